// Values of a window that slides along with a point.
#ifndef ATTNC_COMPILER_SCHEDULE_THREADS_SLIDING_VALUES_H
#define ATTNC_COMPILER_SCHEDULE_THREADS_SLIDING_VALUES_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// The arrays among what the terms of `fold` are made of that read tensors, and depend on `point`
/// and on the dim that is folded, `window`, through their sum alone: what a point reads at one
/// index of the window its neighbour reads at the one before. All reads in them say what is read
/// outside of a tensor, so they may be evaluated at any index. The largest ones; empty if there are
/// none.
llvm::SmallVector<mlir::Value> slidingValues(red::FoldOp fold, mlir::StringAttr point,
                                             mlir::StringAttr window);

} // namespace attnc::schedule

#endif
