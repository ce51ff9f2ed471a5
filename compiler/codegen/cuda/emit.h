// CUDA C++ from the tile dialect.
#ifndef ATTNC_COMPILER_CODEGEN_CUDA_EMIT_H
#define ATTNC_COMPILER_CODEGEN_CUDA_EMIT_H

#include "dialects/Tile/Tile.h"
#include <string>

namespace attnc::cuda {

/// Prints a kernel as a CUDA C++ source for NVRTC: `extern "C"` under the kernel's name, its only
/// includes are the device headers, as `attnc/*.cuh`. Names and comments come from the spec; the
/// same kernel always gives the same text. Fails, with an error at the op, on an op that has no
/// counterpart in CUDA C++.
mlir::FailureOr<std::string> emitCuda(tile::KernelOp kernel);

/// Registers `emit-cuda`, which prints the kernels of a module one after the other.
void registerEmitCudaPass();

} // namespace attnc::cuda

#endif
