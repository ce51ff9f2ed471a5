// What scores add to products joins these on the tensor cores, if it grows evenly along the stream.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_ADDENDS_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_ADDENDS_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// Where a score is `sum * scale + slope * n`, with a positive param `scale` or none, a sum of
/// products of two 16-bit tensors that nothing else needs, a `slope` that does not vary along the
/// stream and an integer n that grows or falls by one with each of its indices: writes it as
/// `(sum + (slope / scale) * n) * scale`, with an array of the sum in parentheses.
void joinAddends(red::NestOp nest);

/// Of the plan's contractions those that are in such an array, where all that is made of it are
/// exponents relative to its maximum, and results in which that cancels.
llvm::SmallVector<Addend> planAddends(red::NestOp nest, const StreamPlan &plan);

/// How such an array grows, whatever is made of it; nothing where no maximum follows it.
std::optional<Growth> planGrowth(red::NestOp nest, const StreamPlan &plan);

} // namespace attnc::schedule

#endif
