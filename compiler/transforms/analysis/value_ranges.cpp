#include "compiler/transforms/analysis/value_ranges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

// Proofs go no deeper than this through maps and folds.
static constexpr unsigned kMostSteps = 64;

namespace {

/// Walks expressions and the maps and folds behind their leaves.
class Signs {
public:
  Sign of(const ScalarExpr *e) {
    using Kind = ScalarExpr::Kind;
    if (steps++ > kMostSteps)
      return Sign::Unknown;
    switch (e->kind) {
    case Kind::Leaf:
      return of(e->leaf);
    case Kind::Constant:
      return signOfConstant(e->constant);
    case Kind::Neg:
      return negated(of(e->args[0]));
    case Kind::Add:
      return signOfSum(of(e->args[0]), of(e->args[1]));
    case Kind::Sub:
      return signOfSum(of(e->args[0]), negated(of(e->args[1])));
    case Kind::Mul:
      if (sameExpression(e->args[0], e->args[1]))
        return Sign::NotNegative;
      [[fallthrough]];
    case Kind::Div:
      return signOfProduct(of(e->args[0]), of(e->args[1]));
    case Kind::Exp:
      return Sign::Positive;
    case Kind::Max:
      return signOfLarger(of(e->args[0]), of(e->args[1]));
    case Kind::Select:
      return signOfEither(of(e->args[1]), of(e->args[2]));
    case Kind::Op: {
      SmallVector<Sign> args;
      for (const ScalarExpr *arg : e->args)
        args.push_back(isa<FloatType>(arg->type) ? of(arg) : Sign::Unknown);
      return ofOp(e->op, args);
    }
    default:
      return Sign::Unknown;
    }
  }

  Sign of(Value array) {
    if (steps++ > kMostSteps || !isa<FloatType>(elementOf(array)))
      return Sign::Unknown;
    if (auto param = array.getDefiningOp<ParamOp>())
      return ofParam(param);
    if (auto map = array.getDefiningOp<MapOp>())
      return ofScalar(map, map.getYielded());
    if (auto fold = array.getDefiningOp<red::FoldOp>())
      return ofFold(fold);
    return Sign::Unknown;
  }

private:
  static Type elementOf(Value array) {
    return cast<attn::ArrayType>(array.getType()).getElementType();
  }

  static Sign ofParam(ParamOp param) {
    if (auto lower = param.getLower(); lower && lower->convertToDouble() >= 0)
      return lower->convertToDouble() > 0 || param.getLowerOpen() ? Sign::Positive
                                                                  : Sign::NotNegative;
    return Sign::Unknown;
  }

  Sign ofFold(red::FoldOp fold) {
    if (fold.getKind() == red::FoldKind::Max || fold.getKind() == red::FoldKind::Min)
      return Sign::Unknown; // of nothing it is infinite
    if (fold.getKind() != red::FoldKind::Add || fold.degree() % 2 != 0)
      return Sign::Unknown;
    // What a condition says of an element, it does not say of all that are folded.
    SmallVector<std::pair<Value, Sign>> around = std::exchange(assumed, {});
    SmallVector<Value> factors(fold.getFactors());
    Sign result = Sign::NotNegative;
    while (!factors.empty()) {
      Value factor = factors.pop_back_val();
      if (auto twin = llvm::find(factors, factor); twin != factors.end()) {
        factors.erase(twin);
        continue;
      }
      result = signOfProduct(result, of(factor));
    }
    assumed = std::move(around);
    return isNotNegative(result) ? Sign::NotNegative : Sign::Unknown;
  }

  Sign ofScalar(MapOp map, Value scalar) {
    if (steps++ > kMostSteps || !isa<FloatType>(scalar.getType()))
      return Sign::Unknown;
    if (!assumed.empty()) {
      Value origin = originOf(map, scalar).second;
      for (auto [value, sign] : llvm::reverse(assumed))
        if (value == origin)
          return sign;
    }
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return of(map.getOperand(argument.getArgNumber()));
    Operation *op = scalar.getDefiningOp();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return signOfConstant(cast<FloatAttr>(constant.getValue()).getValueAsDouble());
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return ofSelect(map, select);
    SmallVector<Sign> args;
    for (Value operand : op->getOperands())
      args.push_back(ofScalar(map, operand));
    return ofOp(op, args);
  }

  Sign ofSelect(MapOp map, arith::SelectOp select) {
    Sign taken = ofSide(map, select.getTrueValue(), select.getCondition(), /*holds=*/true);
    Sign other = ofSide(map, select.getFalseValue(), select.getCondition(), /*holds=*/false);
    return signOfEither(taken, other);
  }

  // Of a value that counts where the condition holds, or where it does not: in `where(x > 0, x, y)`
  // the first x is positive.
  Sign ofSide(MapOp map, Value scalar, Value condition, bool holds) {
    size_t before = assumed.size();
    assume(map, condition, holds);
    Sign result = ofScalar(map, scalar);
    assumed.truncate(before);
    return result;
  }

  // What a comparison with a constant says of the sign of the other side.
  void assume(MapOp map, Value condition, bool holds) {
    auto [around, origin] = originOf(map, condition);
    auto compared = around ? origin.getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    if (!compared)
      return;
    arith::CmpFPredicate predicate = compared.getPredicate();
    Value x = compared.getLhs(), bound = compared.getRhs();
    if (x.getDefiningOp<arith::ConstantOp>()) {
      std::swap(x, bound);
      predicate = turned(predicate);
    }
    auto constant = bound.getDefiningOp<arith::ConstantOp>();
    Sign sign = constant ? signWhere(predicate, holds,
                                     cast<FloatAttr>(constant.getValue()).getValueAsDouble())
                         : Sign::Unknown;
    if (sign != Sign::Unknown)
      assumed.push_back({originOf(around, x).second, sign});
  }

  // The scalar or array that a scalar is, and the map that it is in, if any: values that maps only
  // hand on are followed.
  static std::pair<MapOp, Value> originOf(MapOp map, Value scalar) {
    while (auto argument = dyn_cast<BlockArgument>(scalar)) {
      scalar = map.getOperand(argument.getArgNumber());
      map = scalar.getDefiningOp<MapOp>();
      if (!map)
        break;
      scalar = map.getYielded();
    }
    return {map, scalar};
  }

  // Of x where `x predicate bound` holds, or where it does not, NaN aside.
  static Sign signWhere(arith::CmpFPredicate predicate, bool holds, double bound) {
    using P = arith::CmpFPredicate;
    bool isAbove = predicate == (holds ? P::OGT : P::OLE) || predicate == (holds ? P::UGT : P::ULE);
    bool isFrom = predicate == (holds ? P::OGE : P::OLT) || predicate == (holds ? P::UGE : P::ULT);
    bool isBelow = predicate == (holds ? P::OLT : P::OGE) || predicate == (holds ? P::ULT : P::UGE);
    bool isUpTo = predicate == (holds ? P::OLE : P::OGT) || predicate == (holds ? P::ULE : P::UGT);
    if ((isAbove && bound >= 0) || (isFrom && bound > 0))
      return Sign::Positive;
    if (isFrom && bound == 0)
      return Sign::NotNegative;
    return (isBelow && bound <= 0) || (isUpTo && bound < 0) ? Sign::Negative : Sign::Unknown;
  }

  // The predicate with its sides exchanged.
  static arith::CmpFPredicate turned(arith::CmpFPredicate predicate) {
    using P = arith::CmpFPredicate;
    switch (predicate) {
    case P::OGT:
      return P::OLT;
    case P::OGE:
      return P::OLE;
    case P::OLT:
      return P::OGT;
    case P::OLE:
      return P::OGE;
    case P::UGT:
      return P::ULT;
    case P::UGE:
      return P::ULE;
    case P::ULT:
      return P::UGT;
    case P::ULE:
      return P::UGE;
    default:
      return predicate;
    }
  }

  static Sign ofOp(Operation *op, ArrayRef<Sign> args) {
    auto properties = dyn_cast<ScalarProperties>(op);
    return properties ? properties.sign(args) : Sign::Unknown;
  }

  unsigned steps = 0;
  SmallVector<std::pair<Value, Sign>> assumed; // of scalars and arrays, by conditions around
};

// True if `scalar`, in the region of `map`, is the logarithm of a sum of exp(a - max a): such a sum
// is at least 1, but for one of nothing.
bool isLogarithmOfWeights(MapOp map, Value scalar) {
  auto log = scalar.getDefiningOp<math::LogOp>();
  auto argument = log ? dyn_cast<BlockArgument>(log.getOperand()) : BlockArgument();
  auto sum = argument ? map.getOperand(argument.getArgNumber()).getDefiningOp<red::FoldOp>()
                      : red::FoldOp();
  return sum && sum.getKind() == red::FoldKind::Add && sum.getExponent() &&
         sum.getFactors().empty() && !sum.getBase();
}

bool isAtLeast(Value array, Value x, unsigned &steps);

bool isAtLeast(MapOp map, Value scalar, Value x, unsigned &steps) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return isAtLeast(map.getOperand(argument.getArgNumber()), x, steps);
  if (auto larger = scalar.getDefiningOp<arith::MaximumFOp>())
    return isAtLeast(map, larger.getLhs(), x, steps) || isAtLeast(map, larger.getRhs(), x, steps);
  auto sum = scalar.getDefiningOp<arith::AddFOp>();
  return sum &&
         ((isAtLeast(map, sum.getLhs(), x, steps) && isLogarithmOfWeights(map, sum.getRhs())) ||
          (isAtLeast(map, sum.getRhs(), x, steps) && isLogarithmOfWeights(map, sum.getLhs())));
}

// True if `array` is a maximum of x, or its logsumexp, or the larger one of that and something
// else: at least x everywhere, or x is -inf.
bool isAtLeast(Value array, Value x, unsigned &steps) {
  if (steps++ > kMostSteps)
    return false;
  if (auto fold = array.getDefiningOp<red::FoldOp>())
    return fold.getKind() == red::FoldKind::Max && fold.getFactors().front() == x;
  if (array.getDefiningOp<ReadOp>())
    return llvm::any_of(array.getUsers(), [&](Operation *user) {
      auto fact = dyn_cast<red::AtMostOp>(user);
      return fact && fact.getBound() == array && fact.getValue() == x;
    });
  auto map = array.getDefiningOp<MapOp>();
  return map && isAtLeast(map, map.getYielded(), x, steps);
}

bool boundedAbove(const ScalarExpr *e, unsigned &steps) {
  using Kind = ScalarExpr::Kind;
  if (steps++ > kMostSteps)
    return false;
  switch (e->kind) {
  case Kind::Constant:
    return true;
  case Kind::Add:
    return boundedAbove(e->args[0], steps) && boundedAbove(e->args[1], steps);
  case Kind::Sub:
    if (e->args[0]->leaf && e->args[1]->leaf &&
        isAtLeast(e->args[1]->leaf, e->args[0]->leaf, steps))
      return true;
    return boundedAbove(e->args[0], steps) && isNotNegative(signOf(e->args[1]));
  case Kind::Neg:
    return isNotNegative(signOf(e->args[0]));
  case Kind::Select:
    return boundedAbove(e->args[1], steps) && boundedAbove(e->args[2], steps);
  case Kind::Mul:
  case Kind::Div: {
    Sign x = signOf(e->args[0]), y = signOf(e->args[1]);
    return (x == Sign::Negative && isNotNegative(y)) || (y == Sign::Negative && isNotNegative(x)) ||
           (isNotNegative(y) && !e->args[1]->stream && boundedAbove(e->args[0], steps)) ||
           (isNotNegative(x) && !e->args[0]->stream && boundedAbove(e->args[1], steps));
  }
  case Kind::Op:
    if (isa<arith::MinimumFOp>(e->op))
      return boundedAbove(e->args[0], steps) || boundedAbove(e->args[1], steps);
    if (auto properties = dyn_cast<ScalarProperties>(e->op))
      return properties.isBoundedAbove();
    return false;
  default:
    return false;
  }
}

} // namespace

Sign signOf(const ScalarExpr *e) { return Signs().of(e); }
Sign signOf(Value array) { return Signs().of(array); }

bool isBoundedAbove(const ScalarExpr *e) {
  unsigned steps = 0;
  return boundedAbove(e, steps);
}

} // namespace attnc
