// The connections that are open, and who takes too long.
#ifndef ATTNC_TOOLS_ATTNCD_HTTP_CONNECTIONS_H
#define ATTNC_TOOLS_ATTNCD_HTTP_CONNECTIONS_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace attnc::service {

/// One connection. Its client has some time to send a request, and again to take the answer.
struct Connection {
  explicit Connection(int socket) : socket(socket) { turn(); }
  /// It is the client's turn from now on.
  void turn() { since = std::chrono::steady_clock::now().time_since_epoch().count(); }
  /// How long it has been its turn.
  std::chrono::nanoseconds age() const {
    return std::chrono::steady_clock::now().time_since_epoch() - std::chrono::nanoseconds(since);
  }

  const int socket;
  std::atomic<std::int64_t> since = 0; ///< nanoseconds of the steady clock
  std::atomic<bool> waits = false;     ///< for us
  std::atomic<bool> wasCut = false;
};

/// Thread-safe.
class Connections {
public:
  /// One is on its way to `open`, in another thread; it counts from now on.
  void announce() { ++all; }
  /// It will not be opened.
  void retract() { --all; }
  Connection *open(int socket);
  /// Before the socket is closed.
  void close(Connection *connection);

  std::size_t count() const { return all; }
  /// Ends the connections whose clients have had their turn for longer than `patience`: a client
  /// that sends a byte at times holds one otherwise for as long as it likes.
  void cutSlow(std::chrono::nanoseconds patience);
  std::uint64_t cut() const { return ended; }

private:
  std::mutex mutex;
  std::unordered_set<Connection *> opened;
  std::atomic<std::size_t> all = 0;
  std::atomic<std::uint64_t> ended = 0;
};

} // namespace attnc::service

#endif
