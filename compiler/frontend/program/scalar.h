// Element-wise expressions over arrays, before they become an attn.map.
//
// An expression of a spec is collected into a DAG of scalars until something needs an array (a
// reduction, a subscript, the end of the statement). Then one attn.map is built for all of it.
#ifndef ATTNC_COMPILER_FRONTEND_PROGRAM_SCALAR_H
#define ATTNC_COMPILER_FRONTEND_PROGRAM_SCALAR_H

#include "dialects/Attn/Attn.h"
#include "mlir/IR/Builders.h"
#include <deque>
#include <optional>

namespace attnc {

/// The types that bodies compute in.
enum class ScalarType { Bool, Int, F32, F64 };

inline bool isFloat(ScalarType type) { return type >= ScalarType::F32; }
/// "a condition", "an integer", "a real number": for messages.
llvm::StringRef typeName(ScalarType type);
/// The compute type of a storage type, and back to the MLIR type.
ScalarType scalarTypeOf(mlir::Type type);
mlir::Type mlirType(mlir::MLIRContext *context, ScalarType type);

enum class ScalarOp {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  Neg,
  Min,
  Max,
  Abs,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or,
  Not,
  Where,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Rsqrt,
  Tanh,
  Erf,
  Floor,
  ToFloat, // from an integer, a condition or another float type to `type`
  ToInt,   // from a float, towards zero; NaN is 0 and what is out of range saturates
  RoundTo, // to a storage type of 16 bits and back
  Rand     // of a seed and four indices
};

/// A node. Nodes live as long as the factory that made them and are never changed.
struct Scalar {
  enum Kind {
    Constant,
    Array, // an element of an array value
    Operation,
    Poison // stands for an expression that was wrong and has been reported
  };
  Kind kind = Poison;
  ScalarType type = ScalarType::F32;
  int64_t integer = 0; // of an Int constant; 0 or 1 of a Bool
  double real = 0;     // of a float constant
  mlir::Value array;
  ScalarOp op = ScalarOp::Add;
  mlir::Type storage; // of RoundTo
  /// Of Min and Max, the argument that has the gradient where both are equal.
  std::optional<unsigned> tie;
  llvm::SmallVector<const Scalar *, 5> args;
  mlir::Location loc;

  explicit Scalar(mlir::Location loc) : loc(loc) {}
  bool isPoison() const { return kind == Poison; }
  bool isConstant() const { return kind == Constant; }
  /// The value of a numeric constant.
  double asReal() const { return isFloat(type) ? real : static_cast<double>(integer); }
};

/// Makes nodes and folds constants, in float64 and in 64-bit integers. Operands have been checked:
/// binary operators get operands of one type.
class ScalarFactory {
public:
  const Scalar *poison(mlir::Location loc);
  const Scalar *integer(mlir::Location loc, int64_t value);
  const Scalar *real(mlir::Location loc, double value, ScalarType type = ScalarType::F32);
  const Scalar *condition(mlir::Location loc, bool value);
  const Scalar *array(mlir::Location loc, mlir::Value value);
  /// An operation; a constant if its operands are constants and the result is defined.
  const Scalar *operation(mlir::Location loc, ScalarOp op, ScalarType type,
                          llvm::ArrayRef<const Scalar *> args, mlir::Type storage = {});
  /// A maximum or minimum of floats or integers, `tie` as in Scalar.
  const Scalar *extremum(mlir::Location loc, ScalarOp op, ScalarType type,
                         llvm::ArrayRef<const Scalar *> args, unsigned tie);
  /// Converts a number or a condition to a float type.
  const Scalar *toFloat(mlir::Location loc, const Scalar *value, ScalarType type);

private:
  Scalar *make(Scalar::Kind kind, ScalarType type, mlir::Location loc);
  const Scalar *fold(const Scalar &operation);

  std::deque<Scalar> nodes;
};

/// The arrays that `root` reads, in order of first occurrence.
llvm::SmallVector<mlir::Value> arraysOf(const Scalar *root);

/// Builds one attn.map that computes `root`, or returns the array if `root` is just that.
mlir::Value emitMap(mlir::OpBuilder &builder, attn::ProgramOp program, mlir::Location loc,
                    const Scalar *root);

} // namespace attnc

#endif
