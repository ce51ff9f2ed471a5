// A nest becomes a kernel.
#ifndef ATTNC_COMPILER_SCHEDULE_PASSES_H
#define ATTNC_COMPILER_SCHEDULE_PASSES_H

#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Lowers a nest to a kernel at the builder's insertion point, by the form that its schedule names
/// (generic if it has none). Fails, with an error at the nest, if it has no such form.
mlir::FailureOr<tile::KernelOp> lowerNest(red::NestOp nest, mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
