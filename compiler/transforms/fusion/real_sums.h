// Folds of integers and of conditions as folds of real numbers, which tiles can compute.
#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_REAL_SUMS_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_REAL_SUMS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// Sums of integers over static dims become sums of f32 where none can pass 2^24: these are exact,
/// in whatever order, and a product of two tensors stays one. `any` and `all` over few static
/// indices are spelled out, so that the analysis of masks sees through them; others, of pairs of
/// positions, count the conditions that do or do not hold. The program is in the flat form.
void sumAsReals(attn::ProgramOp program);

} // namespace attnc

#endif
