// Who runs next: the order of warps and of asynchronous ops.
#ifndef ATTNC_COMPILER_INTERPRETER_MACHINE_ADVERSARY_H
#define ATTNC_COMPILER_INTERPRETER_MACHINE_ADVERSARY_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace attnc::interpreter {

/// A deterministic order for each seed. The first `kExtremes` seeds are systematic, later ones
/// random.
class Adversary {
public:
  static constexpr uint64_t kExtremes = 6;

  explicit Adversary(uint64_t seed);

  /// One of the warps that can run, ascending numbers.
  unsigned chooseWarp(llvm::ArrayRef<unsigned> runnable);
  /// Whether a pending asynchronous op happens now although warps could run.
  bool eventNow();
  /// A number below `count`.
  uint64_t below(uint64_t count);

private:
  enum class Order { RoundRobin, First, Last, Stay, Random };
  enum class Timing { Early, Late, Random };
  Order order;
  Timing timing;
  unsigned last = ~0u;
  uint64_t state;
};

} // namespace attnc::interpreter

#endif
