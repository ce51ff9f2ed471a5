#include "tools/attncd/http/http_server.h"

#include "tools/attncd/http/exchange.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>

namespace attnc::service {

namespace {

/// Of a connection, for its head and what is read of a body at once.
constexpr std::size_t connectionBytes = 32768;
/// Connections beyond the bound are told so; beyond these too they wait to be accepted.
constexpr std::size_t spareConnections = 64;
constexpr const char *tlsVersions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/// The library says these of each answer on a Unix socket, which has no such options to set.
bool isOfTcpAlone(std::string_view message) {
  return message.starts_with("Setting TCP_") || message.starts_with("Failed to push the data");
}

std::int64_t steadyNow() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

} // namespace

HttpServer::HttpServer(HttpOptions given, Service &service, Metrics &metrics, Log &log)
    : options(std::move(given)), service(service), metrics(metrics), log(log) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpOptions options, Service &service,
                                                      Metrics &metrics, Log &log) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(options), service, metrics, log));
  const HttpOptions &wanted = server->options;
  bool isTls = !wanted.certificate.empty();
  if (isTls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
    return environmentError("this libmicrohttpd has no TLS",
                            "run attncd behind a proxy that has, or install one that has");
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                   MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG;
  std::vector<MHD_OptionItem> items;
  if (isTls) {
    flags |= MHD_USE_TLS;
    items = {{MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char *>(wanted.certificate.c_str())},
             {MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char *>(wanted.key.c_str())},
             {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char *>(tlsVersions)}};
  }
  items.push_back({MHD_OPTION_END, 0, nullptr});
  std::size_t connections = wanted.maxConnections + spareConnections;
  server->daemon = MHD_start_daemon(
      flags, 0, nullptr, nullptr, onRequest, server.get(), MHD_OPTION_EXTERNAL_LOGGER, onMessage,
      server.get(), MHD_OPTION_NOTIFY_COMPLETED, onCompleted, server.get(),
      MHD_OPTION_NOTIFY_CONNECTION, onConnection, server.get(), MHD_OPTION_URI_LOG_CALLBACK,
      onRequestLine, server.get(), MHD_OPTION_THREAD_POOL_SIZE,
      static_cast<unsigned>(wanted.threads), MHD_OPTION_CONNECTION_LIMIT,
      // Of each thread: which of them gets a connection depends on the number of its socket.
      static_cast<unsigned>(connections) * static_cast<unsigned>(wanted.threads),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, connectionBytes, MHD_OPTION_CONNECTION_TIMEOUT,
      static_cast<unsigned>(wanted.patience.count()), MHD_OPTION_ARRAY, items.data(),
      MHD_OPTION_END);
  if (server->daemon) {
    server->isStarted = true;
    return server;
  }
  const std::string &message = server->startMessage;
  if (isTls)
    return invalidArgument("the certificate or its key cannot be used: " + message,
                           "both are PEM files, and the key is that of the first certificate");
  return environmentError("the HTTP server does not start: " + message);
}

HttpServer::~HttpServer() {
  if (daemon)
    MHD_stop_daemon(daemon);
}

bool HttpServer::hasRoom() const {
  return connections.count() < options.maxConnections + spareConnections;
}

void HttpServer::add(int socket) {
  noteActivity();
  // Of the address it wants the family alone.
  sockaddr address = {};
  address.sa_family = AF_UNIX;
  connections.announce();
  if (MHD_add_connection(daemon, socket, &address, sizeof address) == MHD_YES)
    return;
  connections.retract();
  log.write("warning", "connection_lost", {{"why", std::strerror(errno)}});
}

bool HttpServer::takeMemory(std::size_t bytes) {
  std::size_t taken = uploadBytes;
  do
    if (bytes > options.maxUploadBytes - std::min(taken, options.maxUploadBytes))
      return false;
  while (!uploadBytes.compare_exchange_weak(taken, taken + bytes));
  return true;
}

void HttpServer::noteActivity() { lastActivity = steadyNow(); }

bool HttpServer::isIdle(std::chrono::nanoseconds quiet) const {
  return requests == 0 && (connections.count() == 0 || steadyNow() - lastActivity > quiet.count());
}

void HttpServer::answerAll(const Answer &answer) {
  std::map<std::uint64_t, std::shared_ptr<Exchange>> all;
  {
    std::lock_guard guard(mutex);
    all = waiting;
  }
  for (const auto &[id, exchange] : all)
    exchange->finish(answer);
}

void HttpServer::observe(Moment &moment) const {
  moment.connections = connections.count();
  moment.connectionsCut = connections.cut();
  moment.requests = requests;
  moment.uploads = uploads;
  moment.uploadBytes = uploadBytes;
}

void HttpServer::onMessage(void *self, const char *format, va_list arguments) {
  auto &server = *static_cast<HttpServer *>(self);
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  std::string_view line(text);
  line = line.substr(0, line.find('\n'));
  if (server.options.isUnix && isOfTcpAlone(line))
    return;
  if (server.isStarted)
    server.log.write("warning", "http", {{"what", line}});
  else
    server.startMessage = line;
}

void *HttpServer::onRequestLine(void *self, const char *, MHD_Connection *http) {
  auto &server = *static_cast<HttpServer *>(self);
  server.noteActivity();
  const auto *info = MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return new std::shared_ptr<Exchange>(
      std::make_shared<Exchange>(server, http, static_cast<Connection *>(info->socket_context)));
}

MHD_Result HttpServer::onRequest(void *, MHD_Connection *, const char *path, const char *method,
                                 const char *, const char *data, std::size_t *size,
                                 void **exchange) {
  return (*static_cast<std::shared_ptr<Exchange> *>(*exchange))->onCall(path, method, data, size);
}

void HttpServer::onCompleted(void *, MHD_Connection *, void **exchange,
                             MHD_RequestTerminationCode how) {
  std::unique_ptr<std::shared_ptr<Exchange>> ended(
      static_cast<std::shared_ptr<Exchange> *>(std::exchange(*exchange, nullptr)));
  if (ended)
    (*ended)->onCompleted(how);
}

void HttpServer::onConnection(void *self, MHD_Connection *http, void **context,
                              MHD_ConnectionNotificationCode what) {
  auto &server = *static_cast<HttpServer *>(self);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const auto *info = MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = server.connections.open(info->connect_fd);
  } else {
    server.connections.close(static_cast<Connection *>(std::exchange(*context, nullptr)));
  }
}

} // namespace attnc::service
