#ifndef ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_TABLE_ADJOINT_H
#define ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_TABLE_ADJOINT_H

#include "compiler/transforms/read_adjoints/access.h"

namespace attnc {

/// The adjoint of an access through a table in memory, x[table[j // 16], d]. That reads
/// y[w, d] = x[table[w], d] at w = j // 16, so the gradient of y is found first, an array as long
/// as the table, and that of x is the sum of it over the elements with one key. Null if no
/// subscript, or more than one, depends on a table, or if y would be larger than any tensor.
mlir::Value adjointThroughTable(ArrayBuilder &arrays, const Access &access, mlir::Value gradient);

} // namespace attnc

#endif
