// Sums over the rows around a row, as products with a band of weights.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_BAND_PRODUCTS_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_BAND_PRODUCTS_H

#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// The nest's sums that are such products, with the columns of a result of the plan.
llvm::SmallVector<BandProduct> planBands(red::NestOp nest, const StreamPlan &plan);

/// Rows of the tensor that `rows` rows need: a multiple of 16 where they are.
int64_t bandRows(const BandProduct &band, int64_t rows);

} // namespace attnc::schedule

#endif
