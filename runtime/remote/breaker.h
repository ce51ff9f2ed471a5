#pragma once

/// When to leave a server alone.

#include <chrono>
#include <mutex>

namespace attnc::remote {

/// A circuit breaker: after a failure nobody asks the server for a while, then one caller tries,
/// and if that fails, the while doubles. Thread-safe.
class Breaker {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds first{10}, longest{300};

  /// Whether to ask now. Where the server had failed, one caller in each while is told yes.
  bool allows(Clock::time_point now = Clock::now());
  void succeeded();
  /// `began`: when the call did. Those that were under way when another failed do not count again.
  void failed(Clock::time_point began, Clock::time_point now = Clock::now());

private:
  std::mutex mutex;
  std::chrono::seconds wait{0};   ///< 0: closed
  Clock::time_point opened, next; ///< if not closed
};

} // namespace attnc::remote
