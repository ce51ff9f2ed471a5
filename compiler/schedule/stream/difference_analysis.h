// What the values of a nest depend on through the difference of two indices alone.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_DIFFERENCE_ANALYSIS_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_DIFFERENCE_ANALYSIS_H

#include "compiler/schedule/model/scalar_cost.h"
#include "dialects/Red/Red.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attnc::schedule {

/// Asks it of the arrays of a nest's body and of the scalars of its maps, with the indices of one
/// row dim and of one stream dim. What differs from state to state, or along inner dims, is no
/// function of a difference.
class DifferenceAnalysis {
public:
  DifferenceAnalysis(red::NestOp nest, mlir::StringAttr row, mlir::StringAttr stream)
      : nest(nest), row(row), stream(stream) {}

  /// True of a function of row - stream that is not the same for all differences.
  bool isOfDifference(mlir::Value array) { return dependence(array).isOfDifference(); }
  bool isOfDifference(attn::MapOp map, mlir::Value scalar) {
    return dependence(map, scalar).isOfDifference();
  }

  /// By how much an integer grows with each index of the stream; nothing if that differs.
  std::optional<int64_t> stepOf(attn::MapOp map, mlir::Value scalar);

  /// The operations that differ from difference to difference on the way to one of these.
  struct Cost {
    ScalarCost all;
    bool reads = false; ///< a tensor

    /// More than a load from shared memory.
    bool isWorthATable() const { return reads || all.special > 0; }
  };
  Cost costOf(mlir::Value array);
  Cost costOf(attn::MapOp map, mlir::Value scalar);

private:
  /// How a value depends on the two indices.
  struct Dependence {
    enum Kind {
      Affine,       ///< `row` times the one and `stream` times the other, and what both leave alone
      OfDifference, ///< some function of row - stream
      Other,
    } kind = Affine;
    int64_t row = 0, stream = 0;

    bool isUniform() const { return kind == Affine && row == 0 && stream == 0; }
    bool isOfDifference() const {
      return kind == OfDifference || (kind == Affine && row != 0 && row == -stream);
    }
  };

  static Dependence join(Dependence x, Dependence y);
  static Dependence sumOf(Dependence x, Dependence y, int64_t sign);
  static Dependence timesOf(Dependence x, int64_t factor);
  static Dependence ofComparison(mlir::arith::CmpIPredicate predicate, Dependence x, Dependence y);
  Dependence dependence(mlir::Value array);
  Dependence dependence(attn::MapOp map, mlir::Value scalar);
  Dependence ofRead(attn::ReadOp read);
  Dependence ofScalar(attn::MapOp map, mlir::Operation *op);
  ScalarCost costOf(attn::MapOp map, mlir::Operation *op);
  void addCost(mlir::Value array, llvm::DenseSet<mlir::Value> &seen, Cost &cost);
  void addCost(attn::MapOp map, mlir::Value scalar, llvm::DenseSet<mlir::Value> &seen, Cost &cost);

  red::NestOp nest;
  mlir::StringAttr row, stream;
  llvm::DenseMap<mlir::Value, Dependence> known; // of arrays, and of scalars of maps
};

} // namespace attnc::schedule

#endif
