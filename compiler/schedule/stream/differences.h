// What scores depend on through the difference of their two indices alone.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_DIFFERENCES_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_DIFFERENCES_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// The largest of the nest's row x stream arrays that are functions of row - stream and worth a
/// table. The plan's row and stream are set.
llvm::SmallVector<Difference> planDifferences(red::NestOp nest, const StreamPlan &plan);

/// Makes arrays of the parts of maps that planDifferences would find if they were some. The nest's
/// results stay what they are.
void outlineDifferences(red::NestOp nest);

} // namespace attnc::schedule

#endif
