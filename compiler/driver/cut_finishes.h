#ifndef ATTNC_COMPILER_DRIVER_CUT_FINISHES_H
#define ATTNC_COMPILER_DRIVER_CUT_FINISHES_H

#include "dialects/Red/Red.h"

namespace attnc::driver {

/// Cuts the folds that follow a stream (transforms/cut_finish.h) out of the nests that no tiled
/// form of the target takes as they are. The generic form would do the whole stream again for each
/// of their elements. Nothing happens for an unknown target: choosing schedules says so.
void cutFinishes(attn::ProgramOp program, llvm::StringRef target);

} // namespace attnc::driver

#endif
