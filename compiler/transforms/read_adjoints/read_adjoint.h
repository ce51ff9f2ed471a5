#ifndef ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_READ_ADJOINT_H
#define ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_READ_ADJOINT_H

#include "compiler/transforms/arrays/array_builder.h"

namespace attnc {

/// The gradient of what `read` reads, given that of what it yields: for each element of the source,
/// the sum over all places where it is read. Subscripts through a table are taken apart, those that
/// are clamped by cases; those that a single index solves, as i - 1 or w * size(t) + t, are
/// inverted; for others it is a sum under the condition that the subscript is the element's own
/// index.
mlir::Value adjointOfSource(ArrayBuilder &arrays, attn::ReadOp read, mlir::Value gradient);

} // namespace attnc

#endif
