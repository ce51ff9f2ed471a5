// What an element type is to memory, to tensor cores and to generated code: one table.
#ifndef ATTNC_DIALECTS_TILE_ELEMENT_TYPES_H
#define ATTNC_DIALECTS_TILE_ELEMENT_TYPES_H

#include "mlir/IR/Types.h"
#include "runtime/program/dtype.h"

namespace attnc::tile {

/// A row of a panel: as long as the pattern of its swizzle.
inline constexpr int64_t kPanelBytes = 128;
/// Of the pattern: eight such rows, the alignment of panels.
inline constexpr int64_t kSwizzleBytes = 8 * kPanelBytes;

/// Of a row, what one instruction of a product sums over, whatever the element type; rows of tiles
/// without panels are padded to it.
inline constexpr int64_t kDepthBytes = 32;

/// A type of elements in memory. Products add to f32, whatever they multiply: fragments and row
/// vectors have no element type.
struct ElementType {
  bool (*is)(mlir::Type);
  DType dtype;              ///< in manifests
  llvm::StringLiteral cuda; ///< in generated code
  int64_t bytes;            ///< of an element in memory
  /// What arithmetic does not know: a struct of the device headers, which converts to f32.
  bool isNarrow = false;
  bool warpProducts = false;      ///< mma takes it, and fragments are rounded to it
  bool warpgroupProducts = false; ///< wgmma takes it
  /// Products take an element as a high and a low part: three instructions.
  bool isSplit = false;

  /// Elements of a row that one instruction of a product sums over.
  int64_t depth() const { return kDepthBytes / bytes; }
  int64_t panelColumns() const { return kPanelBytes / bytes; }
  /// The columns of a shared tile with its padding.
  int64_t paddedWidth(int64_t cols) const;
  /// Bytes of a tile in panels.
  int64_t panelBytes(int64_t rows, int64_t cols) const;
};

/// The row of a type, or null: nothing of that type lies in memory.
const ElementType *findElementType(mlir::Type type);

/// The row of a type that has one, as the elements of tensors and of tiles do.
const ElementType &elementType(mlir::Type type);

} // namespace attnc::tile

#endif
