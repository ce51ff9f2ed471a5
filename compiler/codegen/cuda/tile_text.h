// C++ text of tile types and places.
#ifndef ATTNC_COMPILER_CODEGEN_CUDA_TILE_TEXT_H
#define ATTNC_COMPILER_CODEGEN_CUDA_TILE_TEXT_H

#include "compiler/codegen/cuda/scalar_text.h"
#include "dialects/Tile/Tile.h"

namespace attnc::cuda {

std::string number(int64_t value);

/// The type of the device headers that holds a place of this type.
std::string tileTypeText(mlir::Type type);

/// The device headers' name of a combining function.
llvm::StringRef combineText(tile::Combine kind);

/// Pointer arithmetic: `k + (offset)`.
std::string address(const std::string &pointer, const Text &offset);

/// The threads of the role that an op belongs to, or of the block.
int64_t threadsOf(mlir::Operation *op);

} // namespace attnc::cuda

#endif
