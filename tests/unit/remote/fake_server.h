#pragma once

/// A server that says what a test wants it to say.

#include <arpa/inet.h>
#include <atomic>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace attnc::remote {

/// Listens on a port of this machine. For what each connection sends, as far as it came in one
/// piece, it sends back what `answer` makes of it; an empty answer closes the connection.
class FakeServer {
public:
  using Answer = std::function<std::string(const std::string &)>;

  /// `port`: 0 for any.
  explicit FakeServer(Answer answer, int port = 0) : answer(std::move(answer)) {
    listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    int yes = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ::bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address);
    ::listen(listener, 64);
    socklen_t size = sizeof address;
    ::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
    number = ntohs(address.sin_port);
    accepting = std::jthread([this](const std::stop_token &stop) { acceptAll(stop); });
  }

  ~FakeServer() {
    accepting.request_stop();
    accepting.join();
    connections.clear();
    ::close(listener);
  }

  int port() const { return number; }
  std::string http() const { return "http://127.0.0.1:" + std::to_string(number); }
  std::string redis() const { return "redis://127.0.0.1:" + std::to_string(number); }

  /// What has come, in order.
  std::vector<std::string> requests() const {
    std::lock_guard guard(mutex);
    return received;
  }

private:
  static bool waitsForInput(int file, const std::stop_token &stop) {
    while (!stop.stop_requested()) {
      pollfd one = {file, POLLIN, 0};
      if (::poll(&one, 1, 20) > 0)
        return true;
    }
    return false;
  }

  void acceptAll(const std::stop_token &stop) {
    while (waitsForInput(listener, stop)) {
      int file = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (file >= 0)
        connections.emplace_back([this, file](const std::stop_token &end) { serve(file, end); });
    }
  }

  void serve(int file, const std::stop_token &stop) {
    std::string bytes(1 << 20, '\0');
    while (waitsForInput(file, stop)) {
      ssize_t count = ::recv(file, bytes.data(), bytes.size(), 0);
      if (count <= 0)
        break;
      std::string request = bytes.substr(0, static_cast<std::size_t>(count));
      {
        std::lock_guard guard(mutex);
        received.push_back(request);
      }
      std::string reply = answer(request);
      if (reply.empty())
        break;
      ::send(file, reply.data(), reply.size(), MSG_NOSIGNAL);
    }
    ::close(file);
  }

  const Answer answer;
  int listener = -1, number = 0;
  mutable std::mutex mutex;
  std::vector<std::string> received;
  std::vector<std::jthread> connections; ///< of the accepting thread, until it has ended
  std::jthread accepting;
};

inline std::string httpAnswer(const std::string &status, const std::string &body,
                              const std::string &headers = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

inline std::string redisText(const std::string &text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

} // namespace attnc::remote
