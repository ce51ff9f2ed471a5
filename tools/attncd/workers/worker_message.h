// What the service and its workers say to each other.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_WORKER_MESSAGE_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_WORKER_MESSAGE_H

#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace attnc::service {

/// One message: 4 bytes with the length of the rest, little endian, 1 byte that says what it is, a
/// line of JSON, and any bytes.
struct Message {
  enum class Kind : char {
    Greeting = 'G', ///< of a worker that has started: nvrtc
    Job = 'J',      ///< limits; the request is the body
    Stage = 'S',    ///< of a job: what begins
    Answer = 'A',   ///< of a job: key and from, with the entry as body, or the failure; last
  };
  Kind kind = Kind::Greeting;
  nlohmann::json header = nlohmann::json::object();
  std::string body = {};
};

/// One end of a stream socket, which it owns. Not thread-safe.
class MessageSocket {
public:
  using Clock = std::chrono::steady_clock;

  /// A message with more than `maxBytes` is not received.
  MessageSocket(int descriptor, std::size_t maxBytes) : file(descriptor), maxBytes(maxBytes) {}
  ~MessageSocket();
  MessageSocket(const MessageSocket &) = delete;
  MessageSocket &operator=(const MessageSocket &) = delete;

  /// False: the other end is closed, or has not taken it by `end`.
  bool send(const Message &message, Clock::time_point end = Clock::time_point::max());

  enum class Received { Message, Nothing, Closed };
  /// Waits until `end`. Closed: no further message can come, because the other end is closed, or
  /// has sent something else than messages.
  Received receive(Message &message, Clock::time_point end = Clock::time_point::max());

  /// Whether the other end is closed, or has sent something.
  bool hasNews() const;

private:
  bool waitFor(short events, Clock::time_point end) const;

  const int file;
  const std::size_t maxBytes;
  std::string buffer; ///< received, and not taken yet
};

} // namespace attnc::service

#endif
