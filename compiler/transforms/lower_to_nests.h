#ifndef ATTNC_COMPILER_TRANSFORMS_LOWER_TO_NESTS_H
#define ATTNC_COMPILER_TRANSFORMS_LOWER_TO_NESTS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Lowers a desugared program of attn to red, unfused: one nest for each reduction, with what is
/// computed from its result element by element.
void lowerToNests(attn::ProgramOp program);

/// Turns a program in fold form (see fold_form.h) into one of unfused nests: one for each fold.
void outlineFolds(attn::ProgramOp program);

} // namespace attnc

#endif
