#ifndef ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_TABLE_KEY_H
#define ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_TABLE_KEY_H

#include "compiler/transforms/read_adjoints/access.h"
#include <optional>

namespace attnc {

/// A subscript that depends on nothing but one element of a table of integers in memory, as
/// table[b, j // 16] or 3 * at[i] + 1; or on elements of several that are read at the same place.
class TableKey {
public:
  static std::optional<TableKey> of(mlir::Value subscript);

  llvm::StringRef tableName() const;
  /// How the table is read, by axes of the table.
  Access access(ArrayBuilder &arrays) const { return accessOf(arrays, reads.front()); }
  /// The key of each element, with these names for the axes of the table.
  mlir::Value along(ArrayBuilder &arrays, llvm::ArrayRef<mlir::StringAttr> dims) const;
  /// True if some place may lie outside of the table and yet have a key that is not negative.
  bool hasKeyOutside() const;
  /// The key of places outside, a scalar.
  mlir::Value outside(ArrayBuilder &arrays) const;

private:
  explicit TableKey(mlir::Value subscript) : subscript(subscript) {}

  mlir::Value subscript;
  llvm::SmallVector<attn::ReadOp> reads;
};

} // namespace attnc

#endif
