// The arithmetic of a domain, answer by answer.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_DOMAIN_SLICE_H
#define ATTNC_COMPILER_SCHEDULE_NEST_DOMAIN_SLICE_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// The ops of the nest's domain, in order, that `wanted` depends on: its answers are asked for in
/// different places, and some read memory.
llvm::SmallVector<mlir::Operation *> domainSlice(red::NestOp nest, mlir::ValueRange wanted);

/// True if `wanted` depends on elements of tensors.
bool readsTensors(red::NestOp nest, mlir::Value wanted);

/// What says of a tile of the stream whether it matters; null if there is no domain or it has none.
mlir::Value liveCondition(red::NestOp nest);

/// The extreme (i64) of no element, and that of `known` and one element more.
mlir::Value emptyExtreme(mlir::OpBuilder &b, mlir::Location loc, red::FoldKind kind);
mlir::Value furtherExtreme(mlir::OpBuilder &b, mlir::Location loc, red::FoldKind kind,
                           mlir::Value known, mlir::Value element);

} // namespace attnc::schedule

#endif
