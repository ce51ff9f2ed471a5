#include "tools/attncd/log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <fmt/chrono.h>
#include <poll.h>
#include <unistd.h>

namespace attnc::service {

namespace {

constexpr std::size_t maxLines = 8192;
constexpr std::chrono::milliseconds gathering{5};

std::string now() {
  auto time = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  auto milliseconds = time.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)), milliseconds);
}

/// False: nobody reads, for a second. In pieces that a pipe takes at once where it takes any.
bool writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd file = {descriptor, POLLOUT, 0};
    if (::poll(&file, 1, 1000) <= 0 || !(file.revents & POLLOUT))
      return false;
    ssize_t part = ::write(descriptor, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (part < 0 && errno != EINTR && errno != EAGAIN)
      return false;
    bytes.remove_prefix(part > 0 ? static_cast<std::size_t>(part) : 0);
  }
  return true;
}

} // namespace

Log::Log(int descriptor) : descriptor(descriptor), writer([this] { run(); }) {}

Log::~Log() {
  {
    std::lock_guard guard(mutex);
    ends = true;
  }
  changed.notify_all();
  writer.join();
}

void Log::write(std::string_view level, std::string_view event, const Fields &fields) {
  Fields line = {{"time", now()}, {"level", level}, {"event", event}};
  line.update(fields);
  std::string text = line.dump(-1, ' ', false, Fields::error_handler_t::replace) + "\n";
  {
    std::lock_guard guard(mutex);
    if (lines.size() >= maxLines) {
      ++lost;
      return;
    }
    lines.push_back(std::move(text));
    if (lines.size() > 1)
      return; // the writer knows
  }
  changed.notify_all();
}

void Log::flush() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return lines.empty() && !isWriting; });
}

void Log::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ends || !lines.empty(); });
    if (lines.empty())
      return;
    // Under load a line comes with hundreds of others: to wake up for each costs more than the
    // line.
    lock.unlock();
    std::this_thread::sleep_for(gathering);
    lock.lock();
    std::deque<std::string> batch;
    batch.swap(lines);
    isWriting = true;
    lock.unlock();
    std::string text;
    for (const std::string &line : batch)
      text += line;
    if (!writeAll(descriptor, text))
      lost += batch.size();
    lock.lock();
    isWriting = false;
    changed.notify_all();
  }
}

} // namespace attnc::service
