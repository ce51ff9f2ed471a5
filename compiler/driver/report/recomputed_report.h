#ifndef ATTNC_COMPILER_DRIVER_REPORT_RECOMPUTED_REPORT_H
#define ATTNC_COMPILER_DRIVER_REPORT_RECOMPUTED_REPORT_H

#include "compiler/driver/compile.h"
#include "compiler/transforms/gradient/recomputed_values.h"

namespace attnc::driver {

/// Which kernels of a backward program in nests compute which of `values`, without those that are
/// part of a factor of something else.
std::vector<RecomputedReport> reportRecomputed(attn::ProgramOp program,
                                               const std::set<std::string> &cotangents,
                                               llvm::ArrayRef<RecomputedValue> values);

} // namespace attnc::driver

#endif
