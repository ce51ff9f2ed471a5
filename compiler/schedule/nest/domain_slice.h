// The arithmetic of a domain, answer by answer.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_DOMAIN_SLICE_H
#define ATTNC_COMPILER_SCHEDULE_NEST_DOMAIN_SLICE_H

#include "dialects/Red/Red.h"
#include <optional>

namespace attnc::schedule {

/// The ops of the nest's domain, in order, that `wanted` depends on: its answers are asked for in
/// different places, and some read memory.
llvm::SmallVector<mlir::Operation *> domainSlice(red::NestOp nest, mlir::ValueRange wanted);

/// True if `wanted` depends on elements of tensors.
bool readsTensors(red::NestOp nest, mlir::ValueRange wanted);

/// True if rows of a tile say where their part of the stream begins, and where it ends.
bool rowsHaveParts(red::NestOp nest);

/// What says of a tile of the stream whether it matters; null if there is no domain or it has none.
mlir::Value liveCondition(red::NestOp nest);

/// Of how many rows, and of how many indices of the stream, the data that decide which tiles matter
/// say the same, where the domain divides them by constants: table[row // 64]. Tiles that these
/// fill know exactly what they need; others take what any of their elements may need. Where only
/// the rows are divided, the stream is taken to be in parts as large. Nothing where they are not,
/// or into parts that are too small for tiles.
struct DecidedTogether {
  int64_t rows, stream;

  bool fills(int64_t rowTile, int64_t streamTile) const {
    return rows % rowTile == 0 && stream % streamTile == 0;
  }
};
std::optional<DecidedTogether> decidedTogether(red::NestOp nest);

/// The extreme (i64) of no element, and that of `known` and one element more, also a truth.
mlir::Value emptyExtreme(mlir::OpBuilder &b, mlir::Location loc, red::FoldKind kind);
mlir::Value furtherExtreme(mlir::OpBuilder &b, mlir::Location loc, red::FoldKind kind,
                           mlir::Value known, mlir::Value element);

} // namespace attnc::schedule

#endif
