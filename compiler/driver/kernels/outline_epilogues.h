#ifndef ATTNC_COMPILER_DRIVER_KERNELS_OUTLINE_EPILOGUES_H
#define ATTNC_COMPILER_DRIVER_KERNELS_OUTLINE_EPILOGUES_H

#include "dialects/Red/Red.h"

namespace attnc::driver {

/// Cuts the folds that follow a stream (transforms/outline_epilogue.h) out of the nests that no
/// tiled form of the target takes as they are. The generic form would do the whole stream again for
/// each of their elements. Nothing happens for an unknown target: choosing schedules says so.
void outlineEpilogues(attn::ProgramOp program, llvm::StringRef target);

} // namespace attnc::driver

#endif
