// Rows of several indices of a grid dim in one row tile: query heads that share a key head.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_PACKING_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_PACKING_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// The last grid dim that can be packed, if there is one: an axis of every resident operand outside
/// of that of the rows, on which the part of the stream that a row visits does not depend. Of the
/// plan, operands are read.
std::optional<Packing> findPacking(red::NestOp nest, const StreamPlan &plan);

/// The packing that a nest's schedule asks for.
struct ScheduledPacking {
  int64_t count; ///< indices in a row tile, more than 1
  mlir::StringAttr dim;
  llvm::SmallVector<mlir::Value> divisors; ///< each once
};

/// Nothing for schedules that pack nothing.
std::optional<ScheduledPacking> scheduledPacking(red::NestOp nest);

} // namespace attnc::schedule

#endif
