#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_SCALAR_ADJOINTS_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_SCALAR_ADJOINTS_H

#include "attnc/result.h"
#include "compiler/transforms/arrays/array_builder.h"

namespace attnc {

/// What operand number `operand` of a map gets of the gradient of its result, element by element:
/// an array over the map's dims, as far as it varies along them. Null if nothing passes to it.
/// Error (Spec): an op on the way declares no derivative.
Result<mlir::Value> adjointOfOperand(ArrayBuilder &arrays, attn::MapOp map, unsigned operand,
                                     mlir::Value gradient);

} // namespace attnc

#endif
