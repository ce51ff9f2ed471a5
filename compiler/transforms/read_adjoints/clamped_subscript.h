#ifndef ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_CLAMPED_SUBSCRIPT_H
#define ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_CLAMPED_SUBSCRIPT_H

#include "compiler/transforms/read_adjoints/access.h"

namespace attnc {

/// The adjoint of an access with a subscript that is one of two values, as the maximum of i - j and
/// 0: the sum of those of both, each where it is the subscript. Null if no subscript is such a
/// choice, or if the values are no easier to solve than it is.
mlir::Value adjointByCases(ArrayBuilder &arrays, const Access &access, mlir::Value gradient);

} // namespace attnc

#endif
