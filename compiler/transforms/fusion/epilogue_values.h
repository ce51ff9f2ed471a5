#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_EPILOGUE_VALUES_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_EPILOGUE_VALUES_H

#include "compiler/transforms/fusion/partition.h"

namespace attnc {

/// Combines the exponents of what is computed from the states, so that nothing out of range is
/// formed there either (scaled_terms.h). Maps that `isLeft` says true of stay as they are.
void combineInEpilogue(
    attn::ProgramOp program, Partition &passes,
    llvm::function_ref<bool(attn::MapOp)> isLeft = [](attn::MapOp) { return false; });

/// Erases what nothing uses: a maximum that cancelled, say. Passes without states go, too.
void eraseUnusedStates(attn::ProgramOp program, Partition &passes);

} // namespace attnc

#endif
