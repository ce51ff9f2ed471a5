// Sums over segments of a tensor: means of blocks, landmarks.
#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_SEGMENT_SUMS_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_SEGMENT_SUMS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// sum(t, x[n * l + t]), of segments that begin where their number says, and sum(j, where(c, x[j],
/// 0)), of elements that a condition with a number n chooses, become products sum(j, w * x[j]) with
/// weights 0 and 1. Such a product reads the tensor once, in order, and can share the
/// pass of others that do. Of inputs of 16 bits, of which it is exact, and for neither few nor many
/// segments, known at compile time. The program is in the flat form.
void sumSegmentsAsProducts(attn::ProgramOp program);

/// Products of masks and a tensor, sum(j, w[n, j] * x[j]), get the name of the rows that another
/// fold along j has of the same elements, m as long as n: they can be rows of one pass. The program
/// is in the flat form.
void shareRowsOfMasks(attn::ProgramOp program);

} // namespace attnc

#endif
