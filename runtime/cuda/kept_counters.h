// Counters that launches of one stream after another find at 0, because kernels leave them so.
#pragma once

#include "runtime/cuda/driver.h"

#include <array>
#include <atomic>

namespace attnc {

/// Counters in device memory for each of the first streams that ask for them, for good: clearing
/// counters before each launch would be a launch of its own, beside which short kernels are not
/// long. Thread safe.
class KeptCounters {
public:
  /// Allocates them and sets them to 0.
  Status make(const CudaDevice &gpu);

  /// `count` counters of the stream, which no other stream has. Null where the caller has to clear
  /// counters of its own: before `make`, if the stream is being captured (its graph may run beside
  /// the stream), if it cannot be told from others, if `count` is beyond 64, or if 64 other streams
  /// have asked before.
  void *on(const CudaDevice &gpu, CuHandle stream, std::size_t count);

private:
  static constexpr std::size_t streams = 64, counters = 64;

  DeviceBuffer memory;
  std::array<std::atomic<std::uint64_t>, streams> owners = {}; ///< numbers of streams, one more
};

} // namespace attnc
