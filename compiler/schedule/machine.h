// What the targets have, as tables.
#ifndef ATTNC_COMPILER_SCHEDULE_MACHINE_H
#define ATTNC_COMPILER_SCHEDULE_MACHINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attnc::schedule {

/// Limits of a target. Shared memory in bytes (CUDA programming guide, technical specifications per
/// compute capability); a block of `n` bytes takes n + sharedReserved of its multiprocessor's.
struct Machine {
  llvm::StringLiteral name; ///< as NVRTC and the manifest spell it
  int64_t sharedPerBlock;
  int64_t sharedPerMultiprocessor;
  int64_t registersPerMultiprocessor;
  int64_t sharedReserved = 1024;
  int64_t registersPerThread = 255;
};

/// The table of targets.
llvm::ArrayRef<Machine> machines();

/// The machine of a target, or null.
const Machine *findMachine(llvm::StringRef target);

} // namespace attnc::schedule

#endif
