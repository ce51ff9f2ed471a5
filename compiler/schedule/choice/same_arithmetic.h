// Scores that two nests compute, by the same arithmetic in both.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_SAME_ARITHMETIC_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_SAME_ARITHMETIC_H

#include "compiler/schedule/model/gpu_model.h"
#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// Gives a portable form to nests that multiply f32 as halves, where what follows from their
/// maximum meets the same scores again: in a nest that does not take halves, or in the program with
/// the gradients; and to all whose maximum is met by values of pairs that tiles store. Gives a form
/// without tiles to nests with schedules of other forms, where a nest computes sums of products of
/// f32 again and meets there what another nest derived from their maximum, or from weights relative
/// to it, and one of the two is generic. exp(s - m) is a weight of at most 1 only if both nests get
/// the same bits for s: parts of tf32 that tensor cores add up and one multiply-add after the other
/// differ by some units of the last place of s, which for large s is a lot in the exponent.
void agreeOnScores(llvm::ArrayRef<red::NestOp> nests, const GpuModel &machine);

/// True if tensor cores would multiply f32 in tiles of the nest. The products of 16-bit numbers are
/// exact in f32, in whatever order they are added up.
bool multipliesFloats(red::NestOp nest);

/// Gives a form without tiles to all nests that compute elements which are compared with their
/// extremum (kExactAttr), unless tensor cores add up the sums in these for each of them, from
/// numbers of 16 bits. An element is the extremum only if both are the same to the last bit.
void agreeOnComparedElements(llvm::ArrayRef<red::NestOp> nests, const GpuModel &machine);

} // namespace attnc::schedule

#endif
