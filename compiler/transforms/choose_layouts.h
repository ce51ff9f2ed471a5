#ifndef ATTNC_COMPILER_TRANSFORMS_CHOOSE_LAYOUTS_H
#define ATTNC_COMPILER_TRANSFORMS_CHOOSE_LAYOUTS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// Chooses the order of the axes of what nests store for each other: the dims of the result's type,
/// and the subscripts of those who read it. Last, and so contiguous, is the inner dim of the nest
/// that stores a row of it at a time; else the dim that most readers hold whole in a tile, or walk
/// along. Comes after the passes that make nests, and before those that count axes.
void chooseLayouts(attn::ProgramOp program);

} // namespace attnc

#endif
