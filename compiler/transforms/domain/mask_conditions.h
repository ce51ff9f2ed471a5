// Reads the conditions of a nest's step as masks.
#ifndef ATTNC_COMPILER_TRANSFORMS_DOMAIN_MASK_CONDITIONS_H
#define ATTNC_COMPILER_TRANSFORMS_DOMAIN_MASK_CONDITIONS_H

#include "compiler/transforms/domain/integers.h"
#include "compiler/transforms/domain/tile_extremes.h"

namespace attnc {

/// A scalar inside a map.
struct Scalar {
  attn::MapOp map;
  mlir::Value value;
};

/// Conditions of one nest, as masks over its tile. What a scalar leads to is found once: arithmetic
/// that is shared has many more paths than operations.
class ConditionReader {
public:
  ConditionReader(red::NestOp nest, const Tile &tile, Masks &masks, TileExtremes &extremes)
      : nest(nest), program(attn::programOf(nest)), tile(tile), a(tile.a), masks(masks),
        integers(tile, masks), extremes(extremes) {}

  /// The mask that holds where the i1 scalar may equal `expected`; exact unless Unknown occurs.
  MaskRef condition(Scalar x, bool expected);

  /// The extent of a dim, i64.
  mlir::Value sizeOf(mlir::StringAttr dim);

private:
  MaskRef findCondition(Scalar x, bool expected);
  MaskRef comparison(mlir::arith::CmpIOp compare, Scalar x, Scalar y, bool expected);

  IntegerRef integer(Scalar x);
  IntegerRef constant(int64_t value);
  IntegerRef findInteger(Scalar x);
  IntegerRef choice(Scalar x, mlir::Operation *select);
  IntegerRef guardedQuotient(Scalar x, mlir::Operation *select);
  IntegerRef integerOf(mlir::Value array);
  IntegerRef findIntegerOf(mlir::Value array);

  /// A box of elements along one axis of a tensor.
  struct Span {
    mlir::Value first, last;
    bool isShort; ///< few elements, however large the tile is
  };
  IntegerRef readOf(attn::ReadOp read);
  std::optional<Span> spanOf(attn::ReadOp read, unsigned axis, bool &streamed);
  bool isShort(const IntegerRef &x);
  mlir::Value extreme(red::FoldKind kind, mlir::Value array, llvm::ArrayRef<Span> spans,
                      bool ofParts);

  red::NestOp nest;
  attn::ProgramOp program;
  const Tile &tile;
  IndexArithmetic &a;
  Masks &masks;
  Integers integers;
  TileExtremes &extremes;
  std::map<std::pair<void *, bool>, MaskRef> conditions; ///< by scalar
  std::map<void *, IntegerRef> scalars, arrays;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> sizes;
};

} // namespace attnc

#endif
