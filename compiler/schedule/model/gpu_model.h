// What the targets have, as tables.
#ifndef ATTNC_COMPILER_SCHEDULE_MODEL_GPU_MODEL_H
#define ATTNC_COMPILER_SCHEDULE_MODEL_GPU_MODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attnc::schedule {

/// What a multiprocessor does in a clock, for the cost model (docs/schedules.md says where the
/// figures are from), and how many of them there are.
struct Rates {
  int64_t multiprocessors;
  double products;    ///< multiply-adds of 16-bit operands, dense
  double special;     ///< exp2, tanh, reciprocals: elements
  double lanes;       ///< other operations: elements
  double sharedBytes; ///< shared memory, read or written
  double cacheBytes;  ///< copied from the L2 cache
  double memoryBytes; ///< its share of the memory's rate
};

/// Limits of a target. Shared memory in bytes (CUDA programming guide, technical specifications per
/// compute capability); a block of `n` bytes takes n + sharedReserved of its multiprocessor's.
struct GpuModel {
  llvm::StringLiteral name; ///< as NVRTC and the manifest spell it
  int64_t sharedPerBlock;
  int64_t sharedPerMultiprocessor;
  int64_t registersPerMultiprocessor;
  int64_t sharedReserved = 1024;
  int64_t registersPerThread = 255;
  /// Products of warpgroups, tensor memory copies, registers that move between warps: the rates
  /// that a schedule of the form "warpgroups" is ranked by. Null for targets without them.
  const Rates *warpgroups = nullptr;
};

/// The table of targets.
llvm::ArrayRef<GpuModel> gpuModels();

/// The machine of a target, or null.
const GpuModel *findGpuModel(llvm::StringRef target);

/// Whether a kernel of the target can wait itself for the launch before it, and so start while that
/// runs (PTX griddepcontrol: compute capability 9.0 and later).
bool waitsForLaunches(llvm::StringRef target);

} // namespace attnc::schedule

#endif
