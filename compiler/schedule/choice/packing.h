// Rows of several indices of a grid dim in one row tile: query heads that share a key head.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_PACKING_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_PACKING_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// The last grid dim that can be packed, if there is one: an axis of every resident operand outside
/// of that of the rows, on which the part of the stream that a row visits does not depend. Of the
/// plan, operands are read.
std::optional<Packing> findPacking(red::NestOp nest, const StreamPlan &plan);

/// How many indices of the dim see the same stream, 1 or more, as in a kernel's grid.
mlir::Attribute sharingIndices(red::NestOp nest, const Packing &packing);

/// How many tiles of `count` indices the dim has. A tile has indices of one stream alone: where
/// `count` does not divide their number, the last tile of a stream has fewer.
mlir::Attribute packedTiles(red::NestOp nest, const Packing &packing, int64_t count);

} // namespace attnc::schedule

#endif
