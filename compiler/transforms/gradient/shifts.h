#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_SHIFTS_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_SHIFTS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// The values that cancel, as the maximum in exp(x - m) / sum(exp(x - m)): whatever they are, no
/// output is another number in exact arithmetic, so that their gradients are 0. Found for what is
/// subtracted in an exponent, by following how each value moves with it: as exp(k m) times what
/// does not, or as k m more.
llvm::DenseSet<mlir::Value> cancellingShifts(attn::ProgramOp program);

} // namespace attnc

#endif
