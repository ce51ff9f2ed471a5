#include "tools/explorer/local_server.h"

#include "tools/explorer/explorer.h"

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/thread.h>
#include <fmt/format.h>
#include <memory>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <thread>

namespace attnc::explorer {

namespace {

template <auto free> struct Free {
  template <typename T> void operator()(T *object) const { free(object); }
};
using EventBase = std::unique_ptr<event_base, Free<event_base_free>>;
using Event = std::unique_ptr<event, Free<event_free>>;
using Http = std::unique_ptr<evhttp, Free<evhttp_free>>;

constexpr int secondsOfSilence = 60; ///< of a client, after which its connection is closed

class Server;

/// A command that runs in a thread of its own. All else is of the server's thread.
struct Job {
  Server *server;
  evhttp_request *http;
  CommandRequest request;
  Reply reply = {};
  std::jthread thread = {};
};

class Server {
public:
  explicit Server(const LocalServerOptions &options) : options(options), about(aboutText()) {}
  ~Server() {
    for (Job *job : jobs)
      job->thread.request_stop();
    while (!jobs.empty())
      finish(*jobs.begin(), /*answers=*/false);
  }
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  Status serve(const std::function<void(const std::string &)> &ready);

private:
  Status listen();
  void answer(evhttp_request *http);
  void run(evhttp_request *http, std::string_view command);
  bool isFromHere(evhttp_request *http) const;
  void finish(Job *job, bool answers);
  void endUnwanted();
  static void send(evhttp_request *http, unsigned status, std::string_view type,
                   std::string_view body);
  static void send(evhttp_request *http, const Reply &reply) {
    send(http, reply.status, "application/json", reply.body);
  }

  const LocalServerOptions &options;
  const std::string about;
  std::string authority; ///< HOST:PORT
  EventBase base;
  Http http;
  std::set<Job *> jobs;
};

std::string_view headerOf(evhttp_request *http, const char *name) {
  const char *value = evhttp_find_header(evhttp_request_get_input_headers(http), name);
  return value ? value : "";
}

std::string bodyOf(evhttp_request *http) {
  evbuffer *buffer = evhttp_request_get_input_buffer(http);
  std::string body(evbuffer_get_length(buffer), '\0');
  evbuffer_copyout(buffer, body.data(), body.size());
  return body;
}

/// Names by which a browser of this machine may call it: another one is that of a page elsewhere
/// whose name was pointed here.
bool Server::isFromHere(evhttp_request *http) const {
  std::string port = authority.substr(authority.rfind(':'));
  std::string host(headerOf(http, "Host")), origin(headerOf(http, "Origin"));
  bool isUsualPort = port == ":80"; // which clients leave out
  if (host != authority && host != "localhost" + port &&
      !(isUsualPort && (host == "localhost" || host + port == authority)))
    return false;
  return origin.empty() || origin == fmt::format("http://{}", host);
}

void Server::send(evhttp_request *http, unsigned status, std::string_view type,
                  std::string_view body) {
  evkeyvalq *headers = evhttp_request_get_output_headers(http);
  evhttp_add_header(headers, "Content-Type", std::string(type).c_str());
  evhttp_add_header(headers, "Content-Security-Policy", contentPolicy);
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evbuffer *buffer = evhttp_request_get_output_buffer(http);
  evbuffer_add(buffer, body.data(), body.size());
  evhttp_send_reply(http, static_cast<int>(status), nullptr, nullptr);
}

void Server::answer(evhttp_request *http) {
  const char *uriPath = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(http));
  std::string_view path = uriPath ? uriPath : "";
  if (!isFromHere(http))
    return send(http, refuse(403, "this server is for the machine that it runs on",
                             fmt::format("open http://{}/", authority)));
  bool reads = evhttp_request_get_command(http) != EVHTTP_REQ_POST;
  if (path.starts_with(commandPath))
    return reads ? send(http, refuse(405, "a command is sent with POST"))
                 : run(http, path.substr(commandPath.size()));
  if (!reads)
    return send(http, refuse(405, "this path is read with GET"));
  if (path == aboutPath)
    return send(http, 200, "application/json", about);
  if (const PageFile *file = findPageFile(path))
    return send(http, 200, file->type, file->text);
  send(http, refuse(404, "there is no such path"));
}

void Server::run(evhttp_request *http, std::string_view command) {
  // A page of another site can send a form or plain text without asking, but not this.
  if (!headerOf(http, "Content-Type").starts_with("application/json"))
    return send(http, refuse(415, "the body has to be application/json"));
  std::string body = bodyOf(http);
  if (body.size() > maxRequestBytes)
    return send(http, refuse(413, fmt::format("the body may have {} bytes", maxRequestBytes)));
  Result<CommandRequest> request = readCommandRequest(command, body);
  if (!request)
    return send(http, refuse(400, request.error().message, request.error().remedy));
  if (jobs.size() >= static_cast<std::size_t>(options.commands))
    return send(http, refuse(429, "as many commands run as may", "try again in a moment"));
  Job *job = new Job{this, http, *std::move(request)};
  jobs.insert(job);
  job->thread =
      std::jthread([job, base = base.get(), &limits = options.limits](std::stop_token stop) {
        job->reply = runCommand(job->request, limits, std::move(stop));
        event_base_once(
            base, -1, EV_TIMEOUT,
            [](evutil_socket_t, short, void *given) {
              auto *job = static_cast<Job *>(given);
              job->server->finish(job, /*answers=*/true);
            },
            job, nullptr);
      });
}

void Server::finish(Job *job, bool answers) {
  job->thread.join();
  jobs.erase(job);
  if (answers)
    send(job->http, job->reply);
  delete job;
}

/// Ends the commands of clients that have gone. libevent does not look while a request is answered,
/// and to let it read then would end this process if the client had sent more.
void Server::endUnwanted() {
  for (Job *job : jobs) {
    evhttp_connection *connection = evhttp_request_get_connection(job->http);
    evutil_socket_t socket = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    char next = 0;
    ssize_t count = ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      job->thread.request_stop();
  }
}

Status Server::listen() {
  bool isV6 = options.host == "::1";
  evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(
      http.get(), options.host.c_str(), static_cast<std::uint16_t>(options.port));
  if (!bound)
    return environmentError(fmt::format("{} port {} cannot be listened on: {}", options.host,
                                        options.port, std::strerror(errno)),
                            "choose another with --port, or --port 0 for any that is free");
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  ::getsockname(evhttp_bound_socket_get_fd(bound), reinterpret_cast<sockaddr *>(&address), &size);
  int port = ntohs(isV6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                        : reinterpret_cast<sockaddr_in &>(address).sin_port);
  authority = fmt::format("{}:{}", isV6 ? "[::1]" : options.host, port);
  return {};
}

Status Server::serve(const std::function<void(const std::string &)> &ready) {
  evthread_use_pthreads();
  base.reset(event_base_new());
  http.reset(base ? evhttp_new(base.get()) : nullptr);
  if (!http)
    return environmentError("no server can be made: out of memory or of descriptors");
  evhttp_set_max_body_size(http.get(), 2 * maxRequestBytes); // beyond it libevent answers
  evhttp_set_max_headers_size(http.get(), 16384);
  evhttp_set_timeout(http.get(), secondsOfSilence + static_cast<int>(options.limits.seconds));
  evhttp_set_allowed_methods(http.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
  evhttp_set_gencb(
      http.get(),
      [](evhttp_request *request, void *server) { static_cast<Server *>(server)->answer(request); },
      this);
  auto stop = [](evutil_socket_t, short, void *base) {
    event_base_loopbreak(static_cast<event_base *>(base));
  };
  Event interrupted(evsignal_new(base.get(), SIGINT, stop, base.get()));
  Event terminated(evsignal_new(base.get(), SIGTERM, stop, base.get()));
  event_add(interrupted.get(), nullptr);
  event_add(terminated.get(), nullptr);
  Event gone(event_new(
      base.get(), -1, EV_PERSIST,
      [](evutil_socket_t, short, void *server) { static_cast<Server *>(server)->endUnwanted(); },
      this));
  constexpr timeval interval = {0, 200000};
  event_add(gone.get(), &interval);
  std::signal(SIGPIPE, SIG_IGN);
  if (Status status = listen(); !status)
    return status;
  ready(fmt::format("http://{}/", authority));
  event_base_dispatch(base.get());
  return {};
}

} // namespace

Status serveLocally(const LocalServerOptions &options,
                    const std::function<void(const std::string &url)> &ready) {
  if (options.host != "127.0.0.1" && options.host != "::1")
    return invalidArgument(fmt::format("{} is no loopback address", options.host),
                           "use 127.0.0.1 or ::1, and reach it from elsewhere through ssh -L; "
                           "attncd serves the page to others, who need a token");
  return Server(options).serve(ready);
}

} // namespace attnc::explorer
