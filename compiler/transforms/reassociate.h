#ifndef ATTNC_COMPILER_TRANSFORMS_REASSOCIATE_H
#define ATTNC_COMPILER_TRANSFORMS_REASSOCIATE_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Computes sums of products of sums in the order that costs least (extent_cost.h): by degree in
/// the extents that are known only at run time, then at the spec's reference shape.
/// sum_j p_ij sum_e g_ie v_je becomes sum_e g_ie sum_j p_ij v_je, and a fold that the program has
/// already costs nothing. Only factors change places: never across a mask or any other function.
void reassociate(attn::ProgramOp program);

} // namespace attnc

#endif
