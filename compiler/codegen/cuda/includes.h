// Which device headers a kernel needs.
#ifndef ATTNC_COMPILER_CODEGEN_CUDA_INCLUDES_H
#define ATTNC_COMPILER_CODEGEN_CUDA_INCLUDES_H

#include "dialects/Tile/Tile.h"
#include <string>

namespace attnc::cuda {

struct Include {
  std::string header; ///< `attnc/HEADER.cuh`
  std::string note;   ///< of a header that is generated: what it holds
};

/// In the order of inclusion: by the ops that the kernel has.
std::vector<Include> includes(tile::KernelOp kernel);

} // namespace attnc::cuda

#endif
