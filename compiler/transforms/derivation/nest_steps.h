#ifndef ATTNC_COMPILER_TRANSFORMS_DERIVATION_NEST_STEPS_H
#define ATTNC_COMPILER_TRANSFORMS_DERIVATION_NEST_STEPS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Records what follows from the division of a program into nests: what lives in tiles, is whole in
/// them, is computed again, goes through memory or is skipped; and gives the program's steps to the
/// nest whose fold they are about. For programs whose nests are final.
void recordNestSteps(attn::ProgramOp program);

} // namespace attnc

#endif
