#ifndef ATTNC_COMPILER_TRANSFORMS_PLAIN_DIFFERENCES_H
#define ATTNC_COMPILER_TRANSFORMS_PLAIN_DIFFERENCES_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Marks the differences in nests whose first operand is never -inf (attn::kPlainAttr): it is made
/// of sums of products, which are numbers. Kernels then compute them without asking for -inf, and
/// contract them with the product before them.
void markPlainDifferences(attn::ProgramOp program);

} // namespace attnc

#endif
