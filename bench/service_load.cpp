// Many clients of attncd, each with a connection that stays open, that ask for entries which are
// there. Requests are sent at a stated rate, whatever the answers do (a request that waits for a
// free client has waited since it was due), or as fast as the answers come.
//
// usage: service_load ADDRESS TOKEN_FILE CLIENTS RATE SECONDS PID PATH...
//
// ADDRESS is unix:FILE or HOST:PORT, RATE the requests per second of all clients together (0: as
// fast as the answers come), PID the server's, whose memory is looked at meanwhile (0: nobody's).
// The first answer for each PATH is what all later ones must be. Prints one JSON object; exits with
// 1 if an answer was wrong, with 4 if there is no server.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

[[noreturn]] void fail(const std::string &text) {
  fmt::print(stderr, "service_load: {}\n", text);
  std::exit(4); // as attnc where the machine lacks something
}

double number(const char *text) {
  char *end = nullptr;
  double value = std::strtod(text, &end);
  if (*end || end == text || !std::isfinite(value) || value < 0)
    fail(fmt::format("'{}' is no number", text));
  return value;
}

int connectUnix(const std::string &file) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (file.size() >= sizeof address.sun_path)
    fail("the path of the socket is too long");
  std::copy(file.begin(), file.end(), address.sun_path);
  int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
    fail(fmt::format("{}: {}", file, std::strerror(errno)));
  return descriptor;
}

int connectTcp(const std::string &host, const std::string &port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
    fail(fmt::format("{}: {}", host, ::gai_strerror(error)));
  int descriptor = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(descriptor, found->ai_addr, found->ai_addrlen) != 0)
    fail(fmt::format("{}:{}: {}", host, port, std::strerror(errno)));
  ::freeaddrinfo(found);
  int yes = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return descriptor;
}

int connectTo(const std::string &address) {
  if (address.starts_with("unix:"))
    return connectUnix(address.substr(5));
  std::size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    fail(address + " is neither unix:FILE nor HOST:PORT");
  return connectTcp(address.substr(0, colon), address.substr(colon + 1));
}

double residentBytes(int process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

/// What is asked for, and what came first.
struct Wish {
  std::string request, body;
  bool known = false;
};

struct Client {
  int descriptor = -1;
  std::string received;
  Wish *wish = nullptr; ///< null: idle
  Clock::time_point due;
};

class Load {
public:
  Load(int argc, char **argv)
      : rate(number(argv[4])), duration(number(argv[5])),
        process(static_cast<int>(number(argv[6]))) {
    std::string token, address = argv[1];
    if (std::ifstream file(argv[2]); !(file >> token))
      fail(fmt::format("{} holds no token", argv[2]));
    for (int i = 7; i < argc; ++i)
      wishes.push_back({fmt::format("GET {} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer "
                                    "{}\r\n\r\n",
                                    argv[i], token),
                        "", false});
    clients.resize(static_cast<std::size_t>(number(argv[3])));
    queue = ::epoll_create1(EPOLL_CLOEXEC);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i].descriptor = connectTo(address);
      epoll_event event = {.events = EPOLLIN, .data = {.u64 = i}};
      ::epoll_ctl(queue, EPOLL_CTL_ADD, clients[i].descriptor, &event);
      idle.push_back(i);
    }
  }

  bool run() {
    begin = Clock::now();
    Clock::time_point last = begin + std::chrono::duration_cast<Clock::duration>(Seconds(duration));
    // Those that are under way are waited for, though not for ever.
    while (Clock::now() < last + std::chrono::seconds(10)) {
      Clock::time_point now = Clock::now();
      if (now < last)
        issue(now);
      else if (due.empty() && idle.size() + lost == clients.size())
        break;
      hand();
      watch(now);
      answers(now < last);
    }
    unanswered = due.size() + clients.size() - idle.size() - lost;
    report();
    return wrong == 0 && failed == 0 && unanswered == 0 && !latencies.empty();
  }

private:
  /// Makes the requests that are due.
  void issue(Clock::time_point now) {
    if (rate == 0) {
      for (std::size_t i = due.size(); i < idle.size(); ++i)
        due.push_back(now);
      return;
    }
    for (Clock::time_point next = when(issued); next <= now; next = when(issued)) {
      due.push_back(next);
      ++issued;
    }
  }

  Clock::time_point when(std::uint64_t request) const {
    return begin + std::chrono::duration_cast<Clock::duration>(
                       Seconds(static_cast<double>(request) / rate));
  }

  /// Gives due requests to idle clients.
  void hand() {
    while (!due.empty() && !idle.empty()) {
      Client &client = clients[idle.front()];
      idle.pop_front(); // the one that has rested longest: all stay in use
      client.wish = &wishes[turn++ % wishes.size()];
      client.due = due.front();
      due.pop_front();
      const std::string &text = client.wish->request;
      if (::send(client.descriptor, text.data(), text.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(text.size()))
        lose(client);
    }
  }

  void answers(bool more) {
    // Until the next request is due.
    timespec wait = {.tv_sec = 0, .tv_nsec = 1'000'000};
    if (more && rate > 0) {
      auto left = std::chrono::nanoseconds(when(issued) - Clock::now()).count();
      wait.tv_nsec = std::clamp<long>(left, 0, wait.tv_nsec);
    }
    epoll_event events[64];
    int count = ::epoll_pwait2(queue, events, std::size(events), &wait, nullptr);
    for (int i = 0; i < count; ++i)
      read(events[i].data.u64);
  }

  void read(std::size_t at) {
    Client &client = clients[at];
    static char buffer[1 << 18];
    ssize_t size = ::recv(client.descriptor, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size <= 0) {
      if (size == 0 || (errno != EAGAIN && errno != EINTR))
        lose(client);
      return;
    }
    client.received.append(buffer, static_cast<std::size_t>(size));
    if (!client.wish) { // nobody asked
      ++wrong;
      lose(client);
      return;
    }
    std::size_t end = client.received.find("\r\n\r\n");
    if (end == std::string::npos)
      return;
    std::size_t body = end + 4, length = lengthOf(std::string_view(client.received).substr(0, end));
    if (client.received.size() < body + length)
      return;
    judge(client, std::string_view(client.received).substr(body));
    client.received.clear();
    client.wish = nullptr;
    idle.push_back(at);
  }

  static std::size_t lengthOf(std::string_view head) {
    constexpr std::string_view name = "\r\nContent-Length: ";
    std::size_t at = head.find(name), length = 0;
    if (at != std::string_view::npos)
      std::from_chars(head.data() + at + name.size(), head.data() + head.size(), length);
    return length;
  }

  void judge(Client &client, std::string_view body) {
    latencies.push_back(Seconds(Clock::now() - client.due).count());
    bytes += body.size();
    if (!client.received.starts_with("HTTP/1.1 200 ")) {
      ++failed;
      return;
    }
    if (!std::exchange(client.wish->known, true))
      client.wish->body = body;
    else if (client.wish->body != body)
      ++wrong;
  }

  void lose(Client &client) {
    ++lost;
    ++failed;
    ::close(client.descriptor);
    client.wish = nullptr;
    std::erase_if(idle, [&](std::size_t i) { return &clients[i] == &client; });
  }

  /// Two looks a second at the server's memory.
  void watch(Clock::time_point now) {
    if (!process || now < begin + memory.size() * std::chrono::milliseconds(500))
      return;
    memory.push_back(residentBytes(process));
  }

  double quantile(double share) const { // of sorted latencies
    auto last = static_cast<double>(latencies.size() - 1);
    return latencies[static_cast<std::size_t>(std::ceil(share * last))] * 1000;
  }

  void report() {
    std::sort(latencies.begin(), latencies.end());
    std::string times = "null", resident = "null";
    if (!latencies.empty())
      times = fmt::format(R"({{"p50": {:.3f}, "p99": {:.3f}, "p99.9": {:.3f}, "max": {:.3f}}})",
                          quantile(0.5), quantile(0.99), quantile(0.999), quantile(1));
    if (memory.size() >= 4) {
      auto half = memory.size() / 2; // the first half is where caches fill
      auto [least, most] = std::minmax_element(&memory[half], memory.data() + memory.size());
      resident = fmt::format(R"({{"first": {:.0f}, "middle": {:.0f}, "last": {:.0f}, )"
                             R"("least_of_second_half": {:.0f}, "most_of_second_half": {:.0f}}})",
                             memory.front(), memory[half], memory.back(), *least, *most);
    }
    fmt::print(R"({{"clients": {}, "rate": {}, "seconds": {}, "answers": {}, )"
               R"("requests_per_second": {:.1f}, "bytes": {}, "failed": {}, "wrong": {}, )"
               R"("unanswered": {}, "milliseconds": {}, "resident_bytes": {}}})"
               "\n",
               clients.size(), rate, duration, latencies.size(),
               static_cast<double>(latencies.size()) / duration, bytes, failed, wrong, unanswered,
               times, resident);
  }

  const double rate, duration;
  const int process;
  std::vector<Wish> wishes;
  std::vector<Client> clients;
  int queue = -1;
  std::deque<std::size_t> idle;
  std::deque<Clock::time_point> due; ///< requests without a client
  std::uint64_t issued = 0, turn = 0, failed = 0, wrong = 0, lost = 0, bytes = 0, unanswered = 0;
  std::vector<double> latencies; ///< seconds
  std::vector<double> memory;
  Clock::time_point begin;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 8)
    fail("usage: service_load ADDRESS TOKEN_FILE CLIENTS RATE SECONDS PID PATH...");
  return Load(argc, argv).run() ? 0 : 1;
}
