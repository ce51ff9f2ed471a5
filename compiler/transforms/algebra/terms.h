// The algebra of the online rewrite: a scalar expression as a sum of terms C * exp(a + b) * B.
#ifndef ATTNC_COMPILER_TRANSFORMS_ALGEBRA_TERMS_H
#define ATTNC_COMPILER_TRANSFORMS_ALGEBRA_TERMS_H

#include "compiler/transforms/derivation/derivation.h"
#include "dialects/Red/Red.h"
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attnc {

/// A scalar expression over arrays. Maps that depend on a state of the pass are opened up; every
/// other array is a leaf.
struct ScalarExpr {
  enum class Kind {
    Leaf,
    Op,
    Constant,
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Exp,
    Log,
    Empty, ///< x == -inf
    Equal,
    Select
  };
  Kind kind;
  mlir::Type type;               ///< scalar type
  mlir::Value leaf;              ///< Leaf: the array
  mlir::Operation *op = nullptr; ///< Op: the scalar operation, to be cloned
  double constant = 0;           ///< Constant
  llvm::SmallVector<const ScalarExpr *, 3> args;
  mutable mlir::Value origin; ///< the array with a name that was opened up to this, if any
  bool stream = false;        ///< varies along the stream
  bool state = false;         ///< depends on a state of the pass
  bool neutral() const { return !stream && !state; }
};

/// A factor x - g of a term: multiplied out, it would cancel.
struct Difference {
  const ScalarExpr *base;   ///< x
  const ScalarExpr *centre; ///< g
  bool guarded = false;     ///< a condition may leave out every x, and then g may be infinite
};

/// One term C(x) * exp(a(x) + b(g)) * B(g) of a fold's lift, times differences of x and g: x varies
/// along the stream, g stands for the states of the pass.
struct Term {
  llvm::SmallVector<const ScalarExpr *, 2> factors; ///< C
  const ScalarExpr *exponent = nullptr;             ///< a; null if there is none
  llvm::SmallVector<const ScalarExpr *, 2> shift;   ///< summands of b
  llvm::SmallVector<const ScalarExpr *, 2> outer;   ///< factors of B
  llvm::SmallVector<Difference, 1> differences;     ///< at most two, of one base
  /// A comparison of `weight` with 0 under which the term counts: xlogy's. Null if it always does.
  const ScalarExpr *condition = nullptr;
  bool countsWhere = true;
  /// A condition may leave out every key, and what the sum is multiplied by may be infinite or NaN
  /// then: the term is 0 where its exponent is -inf throughout.
  bool vanishes = false;
  std::shared_ptr<Term> weight;
};

/// Why an expression has no such form.
struct Refusal {
  std::string operation;  ///< what is in the way, as it is written in a spec
  std::string expression; ///< in what, or empty
  std::string result;     ///< the result of the same pass that it takes, or empty
  std::string property;   ///< what the operation lacks
  unsigned line = 0;      ///< of the operation in the spec; 0 if there is no such place
};

/// The arrays that the expressions are made of, in the order in which they are met.
llvm::SetVector<mlir::Value> leavesOf(llvm::ArrayRef<const ScalarExpr *> expressions);

/// True if both are the same expression of the same arrays; false also where that takes long to
/// find out.
bool sameExpression(const ScalarExpr *x, const ScalarExpr *y);

/// The base of the exponential that `e` is; 0 if it is none.
double exponentialBase(const ScalarExpr *e);

/// Builds and splits expressions for one pass over `stream`, and turns them back into arrays.
class Terms {
public:
  /// `isState` says whether an array depends on a state of the pass.
  Terms(attn::ProgramOp program, llvm::ArrayRef<mlir::StringAttr> stream,
        std::function<bool(mlir::Value)> isState)
      : program(program), stream(stream.begin(), stream.end()), isState(std::move(isState)) {}

  const ScalarExpr *of(mlir::Value array);

  /// `array` as its own map makes it, also where it depends on no state.
  const ScalarExpr *ofMap(mlir::Value array);

  /// A scalar of a map.
  const ScalarExpr *open(attn::MapOp map, mlir::Value scalar);

  /// `array` opened up whatever it depends on, as far as maps go.
  const ScalarExpr *openAll(mlir::Value array);

  /// True if `e` is a sum of products with an exponential along the stream that nothing bounds: its
  /// sum needs a maximum of its own.
  bool hasWeight(const ScalarExpr *e);

  /// The terms of `e`, or nothing: then refusal() says why.
  std::optional<llvm::SmallVector<Term>> split(const ScalarExpr *e);

  /// `e` as a sum of a part along the stream and of state-only summands, or nothing.
  std::optional<Term> splitSum(const ScalarExpr *e);

  /// Appends expressions whose sum is `e`, each of which varies along the stream or depends on a
  /// state, not both; false if there are none, or too many.
  bool summands(const ScalarExpr *e, llvm::SmallVectorImpl<const ScalarExpr *> &out);

  const Refusal &refusal() const { return refused; }

  /// The rules that splitting has used so far, once each.
  const llvm::SmallSetVector<derivation::Rule, 4> &used() const { return usedRules; }

  /// The n of an expression x^n, of which x is the first argument; null if it is none.
  const ScalarExpr *powerOf(const ScalarExpr *e);

  /// True if `e` is an op that distributes over factors that are not negative: f(c x, c y) = c f(x,
  /// y).
  static bool isHomogeneous(const ScalarExpr *e);

  /// True if `e` is an op whose result is always one of its operands.
  static bool isOneOfOperands(const ScalarExpr *e);

  /// The x of an f(x) or f(x, 0) that distributes so; null if `e` is none.
  static const ScalarExpr *homogeneousIn(const ScalarExpr *e);

  /// x n; -(x n) of -x.
  const ScalarExpr *multiple(const ScalarExpr *x, const ScalarExpr *n);

  /// The operation that `e` is, as it is written in a spec.
  static llvm::StringRef nameOf(const ScalarExpr *e);

  /// Forgets, while another way is tried, why the first one failed; if there is no other reason in
  /// the end, it is that one again.
  class Attempt {
  public:
    explicit Attempt(Terms &terms) : terms(terms), before(std::exchange(terms.refused, {})) {}
    ~Attempt() {
      if (terms.refused.operation.empty())
        terms.refused = before;
    }

  private:
    Terms &terms;
    Refusal before;
  };

  /// Records why, unless there is a reason already.
  void refuse(llvm::StringRef operation, llvm::StringRef property) {
    if (refused.operation.empty())
      refused = {operation.str(), "", "", property.str()};
  }
  std::nullopt_t refuse(const ScalarExpr *e, llvm::StringRef property);
  mlir::Value resultBehind(mlir::Value array);

  /// An array that computes `e`, built before `b`'s insertion point; an equivalent map that is
  /// already in the block is used again.
  mlir::Value build(mlir::OpBuilder &b, mlir::Location loc, const ScalarExpr *e);

  const ScalarExpr *constant(mlir::Type type, double value);
  const ScalarExpr *neg(const ScalarExpr *x);
  const ScalarExpr *binary(ScalarExpr::Kind kind, const ScalarExpr *x, const ScalarExpr *y);
  const ScalarExpr *exp(const ScalarExpr *x);
  const ScalarExpr *log(const ScalarExpr *x);
  /// x, and `otherwise` where `condition` is not `side`.
  const ScalarExpr *guarded(const ScalarExpr *condition, bool side, const ScalarExpr *x,
                            double otherwise);
  /// x == -inf
  const ScalarExpr *isEmpty(const ScalarExpr *x);
  const ScalarExpr *equal(const ScalarExpr *x, const ScalarExpr *y);
  /// x where the weight exp(exponent) is not 0, else 0.
  const ScalarExpr *whereWeighted(const ScalarExpr *exponent, const ScalarExpr *x);
  const ScalarExpr *select(const ScalarExpr *condition, const ScalarExpr *x, const ScalarExpr *y);
  /// `e` with other arguments.
  const ScalarExpr *withArgs(const ScalarExpr *e, llvm::ArrayRef<const ScalarExpr *> args);
  const ScalarExpr *leaf(mlir::Value array);
  const ScalarExpr *sum(llvm::ArrayRef<const ScalarExpr *> summands);

private:
  /// More terms than this are not worth a state each.
  static constexpr size_t kMaxTerms = 4;

  const ScalarExpr *ofOp(mlir::Operation *op, llvm::ArrayRef<const ScalarExpr *> args);
  const ScalarExpr *make(ScalarExpr::Kind kind, mlir::Type type,
                         llvm::ArrayRef<const ScalarExpr *> args, mlir::Operation *op = nullptr);
  bool appendSummands(const ScalarExpr *e, llvm::SmallVectorImpl<const ScalarExpr *> &out);
  bool appendLogarithm(const ScalarExpr *argument, llvm::SmallVectorImpl<const ScalarExpr *> &out);
  bool hasWeight(mlir::Value array);
  bool findWeight(const ScalarExpr *e);
  bool flatten(const ScalarExpr *e, bool negative, llvm::SmallVectorImpl<const ScalarExpr *> &out);
  std::optional<llvm::SmallVector<Term>> splitDifferences(const ScalarExpr *e);
  std::optional<llvm::SmallVector<Term>> splitWhereWeighted(const ScalarExpr *e);
  std::optional<llvm::SmallVector<Term>> splitProduct(const ScalarExpr *x, const ScalarExpr *y);
  std::optional<llvm::SmallVector<Term>> splitPower(const ScalarExpr *e, const ScalarExpr *n);
  std::optional<llvm::SmallVector<Term>> splitHomogeneous(const ScalarExpr *e);
  /// x + y as one multiple if both are multiples of one expression, else null.
  const ScalarExpr *sumOfMultiples(const ScalarExpr *x, const ScalarExpr *y);
  void appendShift(Term &term, const ScalarExpr *part);
  std::optional<llvm::SmallVector<Term>> splitSelect(const ScalarExpr *e);
  std::optional<llvm::SmallVector<Term>> splitExp(const ScalarExpr *e, double base);

  attn::ProgramOp program;
  llvm::SmallVector<mlir::StringAttr> stream;
  std::function<bool(mlir::Value)> isState;
  std::deque<ScalarExpr> pool;
  llvm::DenseMap<mlir::Value, const ScalarExpr *> opened;
  llvm::DenseMap<mlir::Value, bool> weighted;
  llvm::DenseMap<const ScalarExpr *, bool> weights;
  bool opensAll = false;
  Refusal refused;
  llvm::SmallSetVector<derivation::Rule, 4> usedRules;
};

} // namespace attnc

#endif
