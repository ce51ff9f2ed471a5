// The algebra of the online rewrite: a scalar expression as a sum of terms C * exp(a + b) * B.
#ifndef ATTNC_COMPILER_TRANSFORMS_TERMS_H
#define ATTNC_COMPILER_TRANSFORMS_TERMS_H

#include "dialects/Red/Red.h"
#include <deque>
#include <functional>
#include <optional>
#include <string>

namespace attnc {

/// A scalar expression over arrays. Maps that depend on a state of the pass are opened up; every
/// other array is a leaf.
struct ScalarExpr {
  enum class Kind { Leaf, Op, Constant, Neg, Add, Sub, Mul, Div, Exp, Select };
  Kind kind;
  mlir::Type type;               ///< scalar type
  mlir::Value leaf;              ///< Leaf: the array
  mlir::Operation *op = nullptr; ///< Op: the scalar operation, to be cloned
  double constant = 0;           ///< Constant
  llvm::SmallVector<const ScalarExpr *, 3> args;
  bool stream = false; ///< varies along the stream
  bool state = false;  ///< depends on a state of the pass
  bool neutral() const { return !stream && !state; }
};

/// One term C(x) * exp(a(x) + b(g)) * B(g) of a fold's lift: x varies along the stream, g stands
/// for the states of the pass.
struct Term {
  llvm::SmallVector<const ScalarExpr *> factors; ///< C
  const ScalarExpr *exponent = nullptr;          ///< a; null if there is none
  llvm::SmallVector<const ScalarExpr *> shift;   ///< summands of b
  llvm::SmallVector<const ScalarExpr *> outer;   ///< factors of B
};

/// Why an expression has no such form: the operation in the way.
struct Refusal {
  std::string operation;
  std::string reason;
};

/// The arrays that the expressions are made of, in the order in which they are met.
llvm::SetVector<mlir::Value> leavesOf(llvm::ArrayRef<const ScalarExpr *> expressions);

/// Builds and splits expressions for one pass over `stream`, and turns them back into arrays.
class Terms {
public:
  /// `isState` says whether an array depends on a state of the pass.
  Terms(attn::ProgramOp program, llvm::ArrayRef<mlir::StringAttr> stream,
        std::function<bool(mlir::Value)> isState)
      : program(program), stream(stream.begin(), stream.end()), isState(std::move(isState)) {}

  const ScalarExpr *of(mlir::Value array);

  /// The terms of `e`, or nothing: then refusal() says why.
  std::optional<llvm::SmallVector<Term>> split(const ScalarExpr *e);

  /// `e` as a sum of a part along the stream and of state-only summands, or nothing.
  std::optional<Term> splitSum(const ScalarExpr *e);

  const Refusal &refusal() const { return refused; }

  /// Records why, unless there is a reason already.
  void refuse(llvm::StringRef operation, llvm::StringRef reason) {
    if (refused.operation.empty())
      refused = {operation.str(), reason.str()};
  }

  /// An array that computes `e`, built before `b`'s insertion point; an equivalent map that is
  /// already in the block is used again.
  mlir::Value build(mlir::OpBuilder &b, mlir::Location loc, const ScalarExpr *e);

  const ScalarExpr *constant(mlir::Type type, double value);
  const ScalarExpr *neg(const ScalarExpr *x);
  const ScalarExpr *binary(ScalarExpr::Kind kind, const ScalarExpr *x, const ScalarExpr *y);
  const ScalarExpr *exp(const ScalarExpr *x);
  const ScalarExpr *leaf(mlir::Value array);
  const ScalarExpr *sum(llvm::ArrayRef<const ScalarExpr *> summands);

private:
  const ScalarExpr *open(attn::MapOp map, mlir::Value scalar);
  const ScalarExpr *make(ScalarExpr::Kind kind, mlir::Type type,
                         llvm::ArrayRef<const ScalarExpr *> args, mlir::Operation *op = nullptr);
  const ScalarExpr *select(const ScalarExpr *condition, const ScalarExpr *x, const ScalarExpr *y);
  bool summands(const ScalarExpr *e, llvm::SmallVectorImpl<const ScalarExpr *> &out);
  bool appendSummands(const ScalarExpr *e, llvm::SmallVectorImpl<const ScalarExpr *> &out);
  std::optional<llvm::SmallVector<Term>> splitProduct(const ScalarExpr *x, const ScalarExpr *y);
  std::optional<llvm::SmallVector<Term>> splitSelect(const ScalarExpr *e);
  std::optional<llvm::SmallVector<Term>> splitExp(const ScalarExpr *e, double base);
  std::nullopt_t refuse(const ScalarExpr *e, llvm::StringRef reason);

  attn::ProgramOp program;
  llvm::SmallVector<mlir::StringAttr> stream;
  std::function<bool(mlir::Value)> isState;
  std::deque<ScalarExpr> pool;
  llvm::DenseMap<mlir::Value, const ScalarExpr *> opened;
  Refusal refused;
};

} // namespace attnc

#endif
