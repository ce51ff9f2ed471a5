// The log: one JSON object a line.
#ifndef ATTNC_TOOLS_ATTNCD_LOG_H
#define ATTNC_TOOLS_ATTNCD_LOG_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>

namespace attnc::service {

/// Lines are written by a thread of their own, so that a reader who is slow, or a disk that is
/// full, holds up no request: what does not fit into the queue is dropped, and counted.
/// Thread-safe.
class Log {
public:
  /// `descriptor` stays open for as long as this lives.
  explicit Log(int descriptor);
  /// Waits until all lines are written, unless nobody reads them.
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  using Fields = nlohmann::ordered_json;
  /// `fields` is an object; time, level and event come before them. Bytes that are not UTF-8 are
  /// replaced. Nothing in it is a secret.
  void write(std::string_view level, std::string_view event,
             const Fields &fields = Fields::object());

  /// Waits until all lines are written, unless nobody reads them.
  void flush();

  std::uint64_t dropped() const { return lost; }

private:
  void run();

  const int descriptor;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  bool ends = false, isWriting = false;
  std::atomic<std::uint64_t> lost = 0;
  std::thread writer;
};

} // namespace attnc::service

#endif
