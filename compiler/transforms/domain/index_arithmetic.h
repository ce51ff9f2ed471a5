// Integer arithmetic of a domain: each value once.
#ifndef ATTNC_COMPILER_TRANSFORMS_DOMAIN_INDEX_ARITHMETIC_H
#define ATTNC_COMPILER_TRANSFORMS_DOMAIN_INDEX_ARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include <map>
#include <optional>
#include <vector>

namespace attnc {

/// Builds i64 arithmetic at the end of one block. What is computed twice is built once, so equal
/// values are `same`; constants are folded.
class IndexArithmetic {
public:
  IndexArithmetic(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Value constant(int64_t value);
  mlir::Value boolean(bool value);
  /// The value of a constant.
  static std::optional<int64_t> literal(mlir::Value value);
  /// True for one value, and for equal constants, which stand where they are used.
  static bool same(mlir::Value x, mlir::Value y) { return keyOf(x) == keyOf(y); }
  using Key = std::pair<const void *, int64_t>;
  static Key keyOf(mlir::Value value);

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  /// Rounded down, and up; `y` > 0.
  mlir::Value floorDiv(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, mlir::Value y);
  /// x - y * floor(x / y); `y` > 0.
  mlir::Value mod(mlir::Value x, mlir::Value y);

  mlir::Value notNegative(mlir::Value x); ///< i1: x >= 0
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value either(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location location() const { return loc; }

private:
  enum class Op { Add, Sub, Mul, Max, Min, FloorDiv, NotNegative, Both, Either, Select };

  mlir::Value once(Op op, llvm::ArrayRef<mlir::Value> operands,
                   llvm::function_ref<mlir::Value()> build);

  mlir::OpBuilder &b;
  mlir::Location loc;
  std::map<std::pair<Op, std::vector<Key>>, mlir::Value> known;
};

} // namespace attnc

#endif
