#include "tools/attncd/workers/worker_message.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace attnc::service {

namespace {

constexpr std::size_t lengthBytes = 4;

std::string bytesOf(const Message &message) {
  std::string header =
      message.header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::size_t size = 1 + header.size() + 1 + message.body.size();
  std::string bytes;
  bytes.reserve(lengthBytes + size);
  for (std::size_t i = 0; i < lengthBytes; ++i)
    bytes += static_cast<char>(size >> 8 * i);
  bytes += static_cast<char>(message.kind);
  return bytes + header + '\n' + message.body;
}

std::size_t lengthIn(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = lengthBytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

std::optional<Message> messageOf(std::string_view bytes) {
  std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos || line == 0)
    return std::nullopt;
  Message message;
  message.kind = static_cast<Message::Kind>(bytes[0]);
  message.header = nlohmann::json::parse(bytes.substr(1, line - 1), nullptr, false);
  if (!message.header.is_object())
    return std::nullopt;
  message.body = bytes.substr(line + 1);
  return message;
}

} // namespace

MessageSocket::~MessageSocket() { ::close(file); }

bool MessageSocket::waitFor(short events, Clock::time_point end) const {
  while (true) {
    int wait = -1;
    if (end != Clock::time_point::max())
      wait = static_cast<int>(std::clamp<std::int64_t>(
          std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count(), 0, 60'000));
    pollfd asked = {file, events, 0};
    int ready = ::poll(&asked, 1, wait);
    if (ready > 0)
      return true;
    if ((ready < 0 && errno != EINTR) || Clock::now() >= end)
      return false;
  }
}

bool MessageSocket::send(const Message &message, Clock::time_point end) {
  std::string bytes = bytesOf(message);
  for (std::string_view rest = bytes; !rest.empty();) {
    ssize_t sent = ::send(file, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      rest.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN ? !waitFor(POLLOUT, end) : errno != EINTR)
      return false;
  }
  return true;
}

MessageSocket::Received MessageSocket::receive(Message &message, Clock::time_point end) {
  while (true) {
    if (buffer.size() >= lengthBytes) {
      std::size_t length = lengthIn(buffer);
      if (length > maxBytes)
        return Received::Closed;
      if (buffer.size() - lengthBytes >= length) {
        std::optional<Message> read =
            messageOf(std::string_view(buffer).substr(lengthBytes, length));
        buffer.erase(0, lengthBytes + length);
        if (!read)
          return Received::Closed;
        message = *std::move(read);
        return Received::Message;
      }
    }
    if (!waitFor(POLLIN, end))
      return Received::Nothing;
    char part[1 << 16];
    ssize_t count = ::recv(file, part, sizeof part, MSG_DONTWAIT);
    if (count > 0)
      buffer.append(part, static_cast<std::size_t>(count));
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
      return Received::Closed;
  }
}

bool MessageSocket::hasNews() const { return waitFor(POLLIN, Clock::now()); }

} // namespace attnc::service
