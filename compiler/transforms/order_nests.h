#ifndef ATTNC_COMPILER_TRANSFORMS_ORDER_NESTS_H
#define ATTNC_COMPILER_TRANSFORMS_ORDER_NESTS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// Passes over sequences move behind the small nests that do not need them, to the first nest that
/// does: what is small fills few blocks, and a kernel that does not need the one before it runs
/// beside that.
void orderNests(attn::ProgramOp program);

} // namespace attnc

#endif
