// Nests that find the extremes of parts of integer tensors, for domains that depend on data.
#ifndef ATTNC_COMPILER_TRANSFORMS_DOMAIN_TILE_EXTREMES_H
#define ATTNC_COMPILER_TRANSFORMS_DOMAIN_TILE_EXTREMES_H

#include "compiler/transforms/domain/index_arithmetic.h"
#include "dialects/Red/Red.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace attnc {

/// The largest and the smallest elements of parts of tensors of integers, where a domain needs
/// those of more elements than it should read. Each tensor is read once, by a nest of its own.
class TileExtremes {
public:
  explicit TileExtremes(attn::ProgramOp program) : program(program) {}

  /// Arrays with the dims of the tensor but for one: `part` stands in its place.
  struct Parts {
    mlir::Value max, min;
    mlir::StringAttr part;
  };
  /// The parts of `array` along its dim `dim`, made before the nest `user` or known already.
  Parts partsOf(mlir::Value array, mlir::StringAttr dim, red::NestOp user);

  /// How many elements a part has, as the smallest tiles of a stream; the last one may have fewer.
  static constexpr int64_t kPartLength = 64;

  /// Erases the nests that nobody has come to use; returns the others.
  llvm::SmallVector<red::NestOp> finish();

private:
  attn::ProgramOp program;
  std::map<std::pair<void *, void *>, Parts> known; ///< by array and dim
  llvm::MapVector<mlir::StringAttr, mlir::StringAttr> partsOfDims;
  llvm::SmallVector<red::NestOp> nests;
};

} // namespace attnc

#endif
