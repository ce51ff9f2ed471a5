#ifndef ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_INVERSE_TABLE_H
#define ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_INVERSE_TABLE_H

#include "compiler/transforms/read_adjoints/table_key.h"

namespace attnc {

/// For each index along `axis` the sum of `gradient` over the elements of a table whose key it is.
/// `dims` are those of the table, each the name of one of its axes; the sum is over `entries`, some
/// of them, and for each index along the others.
///
/// Either a sum over all elements under the condition that they have the key, or, where that costs
/// more, a sum over the elements in the order of their keys, of which those with one key follow
/// each other. The order is found on the device by counting, and is the same in each run: of
/// elements with one key the earlier comes first.
mlir::Value sumByKey(ArrayBuilder &arrays, const TableKey &key,
                     llvm::ArrayRef<mlir::StringAttr> dims,
                     llvm::ArrayRef<mlir::StringAttr> entries, mlir::StringAttr axis,
                     mlir::Value gradient);

} // namespace attnc

#endif
