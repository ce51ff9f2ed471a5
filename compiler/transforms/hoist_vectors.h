#ifndef ATTNC_COMPILER_TRANSFORMS_HOIST_VECTORS_H
#define ATTNC_COMPILER_TRANSFORMS_HOIST_VECTORS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Has sums over inner dims that the step of a nest uses, and that vary with its rows or with its
/// stream, not with both, computed once: by a nest before it, whose result the step reads. In the
/// step they would be computed again for each tile of the other dim, or for each score. The same of
/// long sums that are used behind the stream and do not depend on it: a convolution of f32 rows,
/// the norm of such. Sums of few terms, of anything but f32, and of more values than an operand has
/// stay where they are.
void hoistVectors(attn::ProgramOp program);

} // namespace attnc

#endif
