#include "dialects/Attn/Derivatives.h"
#include "dialects/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace attnc::attn {

//===--- infinities --------------------------------------------------------------------------===//

bool isOnlyAdded(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<ReadOp>(user))
      return use.getOperandNumber() == 0 && isOnlyAdded(user->getResult(0));
    if (auto map = dyn_cast<MapOp>(user))
      return isOnlyAdded(map.getBodyBlock()->getArgument(use.getOperandNumber()));
    if (auto reduce = dyn_cast<ReduceOp>(user))
      return reduce.getKind() == ReduceKind::Max || reduce.getKind() == ReduceKind::Min ||
             reduce.getKind() == ReduceKind::LogSumExp;
    if (isa<SoftmaxOp, OutputOp>(user))
      return true;
    return isa<arith::AddFOp, SubOp, arith::CmpFOp, arith::SelectOp>(user);
  });
}

/// The array that a scalar of a map is an element of, or null.
static Value arrayOf(Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto map = argument ? dyn_cast<MapOp>(argument.getOwner()->getParentOp()) : MapOp();
  return map ? map->getOperand(argument.getArgNumber()) : Value();
}

/// True if the scalar is no less than any element of the array: its maximum or its logsumexp, or
/// the larger one of that and something else.
static bool isUpperBound(Value scalar, Value array) {
  if (auto larger = scalar.getDefiningOp<arith::MaximumFOp>())
    return isUpperBound(larger.getLhs(), array) || isUpperBound(larger.getRhs(), array);
  Value bound = arrayOf(scalar);
  Operation *op = bound ? bound.getDefiningOp() : nullptr;
  if (auto map = dyn_cast_or_null<MapOp>(op))
    return isUpperBound(map.getYielded(), array);
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  return reduce && reduce.getOperand() == array &&
         (reduce.getKind() == ReduceKind::Max || reduce.getKind() == ReduceKind::LogSumExp);
}

/// True of x less an upper bound of it: its exponential is at most 1. Not where the bound leaves
/// elements out, which may be larger, and infinitely if it leaves out all.
static bool isAtMostZero(Value exponent) {
  auto difference = exponent.getDefiningOp<SubOp>();
  Value array = difference ? arrayOf(difference.getLhs()) : Value();
  return array && isUpperBound(difference.getRhs(), array);
}

namespace {

/// Proofs go no further than this; what is beyond may be infinite.
constexpr unsigned kMostSteps = 256;

class Infinities {
public:
  bool mayHold(Value value) {
    auto [found, isNew] = known.try_emplace(value, true);
    if (!isNew || known.size() > kMostSteps)
      return found->second;
    bool result = find(value);
    known[value] = result;
    return result;
  }

private:
  static bool isReal(Value value) {
    Type type = value.getType();
    if (auto array = dyn_cast<attn::ArrayType>(type))
      type = array.getElementType();
    return isa<FloatType>(type);
  }

  bool anyOperand(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value x) { return isReal(x) && mayHold(x); });
  }

  bool find(Value value) {
    if (auto scalar = dyn_cast<BlockArgument>(value)) {
      auto map = dyn_cast<MapOp>(scalar.getOwner()->getParentOp());
      return !map || mayHold(map->getOperand(scalar.getArgNumber()));
    }
    Operation *op = value.getDefiningOp();
    if (auto map = dyn_cast<MapOp>(op))
      return mayHold(map.getYielded());
    if (auto read = dyn_cast<ReadOp>(op))
      return (read.getOtherwise() && !read.getOtherwise()->isFinite()) || mayHold(read.getSource());
    if (isa<InputOp>(op))
      return isOnlyAdded(value);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getKind() == ReduceKind::LogSumExp || anyOperand(op);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto number = dyn_cast<FloatAttr>(constant.getValue());
      return number && !number.getValue().isFinite();
    }
    if (isa<ParamOp, SoftmaxOp, RandOp, math::TanhOp, math::ErfOp>(op))
      return false;
    if (isa<math::ExpOp, math::Exp2Op>(op))
      return mayGrow(op->getOperand(0));
    if (isa<math::PowFOp>(op))
      return !isWholePower(op->getOperand(1)) || anyOperand(op);
    if (isa<arith::DivFOp>(op))
      return mayHold(op->getOperand(0)) || isLength(op->getOperand(1));
    return isa<math::LogOp, math::Log2Op, math::RsqrtOp, math::SqrtOp>(op) || anyOperand(op);
  }

  /// An integer that is read, as the length of a sequence: it may be 0 in a row while others go on.
  bool isLength(Value divisor) {
    auto real = divisor.getDefiningOp<arith::SIToFPOp>();
    return real && isOfData(real.getIn());
  }

  bool isOfData(Value integer) {
    if (++steps > kMostSteps || integer.getDefiningOp<ReadOp>())
      return true;
    if (auto scalar = dyn_cast<BlockArgument>(integer)) {
      auto map = dyn_cast<MapOp>(scalar.getOwner()->getParentOp());
      return !map || isOfData(map->getOperand(scalar.getArgNumber()));
    }
    Operation *op = integer.getDefiningOp();
    if (auto map = dyn_cast<MapOp>(op))
      return isOfData(map.getYielded());
    return llvm::any_of(op->getOperands(), [&](Value x) { return isOfData(x); });
  }

  /// Whether +inf may be in the exponent: less a maximum of nothing. Logits and biases are infinite
  /// downwards only.
  bool mayGrow(Value exponent) {
    if (++steps > kMostSteps)
      return true;
    if (auto scalar = dyn_cast<BlockArgument>(exponent)) {
      auto map = dyn_cast<MapOp>(scalar.getOwner()->getParentOp());
      auto source = map ? map->getOperand(scalar.getArgNumber()).getDefiningOp<MapOp>() : MapOp();
      return source && mayGrow(source.getYielded());
    }
    Operation *op = exponent.getDefiningOp();
    if (isTurned(op))
      return mayHold(op->getOperand(0)) || mayHold(op->getOperands().back());
    if (isa<SubOp>(op) && !isAtMostZero(exponent) && mayHold(op->getOperand(1)))
      return true;
    return isa<SubOp, arith::AddFOp, arith::MulFOp, arith::DivFOp, arith::SelectOp>(op) &&
           !isAtMostZero(exponent) &&
           llvm::any_of(op->getOperands(), [&](Value x) { return isReal(x) && mayGrow(x); });
  }

  /// -inf becomes +inf.
  static bool isTurned(Operation *op) {
    APFloat number(0.0);
    return isa<arith::NegFOp>(op) ||
           (isa<arith::MulFOp>(op) && llvm::any_of(op->getOperands(), [&](Value x) {
              return matchPattern(x, m_ConstantFloat(&number)) && number.isNegative();
            }));
  }

  /// Powers with another exponent are infinite of 0, or NaN below 0.
  static bool isWholePower(Value exponent) {
    APFloat number(0.0);
    return matchPattern(exponent, m_ConstantFloat(&number)) && !number.isNegative() &&
           number.isInteger();
  }

  llvm::DenseMap<Value, bool> known;
  unsigned steps = 0; // of looking into exponents and lengths
};

} // namespace

bool mayBeInfinite(Value value) { return Infinities().mayHold(value); }

namespace {

/// Proves that a value is above 0, whatever is read: of constants, params with such a range, and
/// their square roots. What is computed may be NaN or underflow, and an extent may be 0.
class PositiveValues {
public:
  bool isPositive(Value value) {
    if (++steps > kMostSteps)
      return false;
    if (Value array = arrayOf(value))
      return isPositive(array);
    Operation *op = value.getDefiningOp();
    if (auto map = dyn_cast_or_null<MapOp>(op))
      return isPositive(map.getYielded());
    if (auto param = dyn_cast_or_null<ParamOp>(op))
      return hasPositiveRange(param);
    APFloat number(0.0);
    if (matchPattern(value, m_ConstantFloat(&number)))
      return !number.isZero() && !number.isNegative() && !number.isNaN();
    return isa_and_nonnull<math::SqrtOp>(op) && isPositive(op->getOperand(0));
  }

private:
  static bool hasPositiveRange(ParamOp param) {
    std::optional<APFloat> lower = param.getLower();
    return lower && !lower->isNegative() && (!lower->isZero() || param.getLowerOpen());
  }

  unsigned steps = 0;
};

} // namespace

//===--- building blocks ---------------------------------------------------------------------===//

static Value constant(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

static Value compare(ImplicitLocOpBuilder &b, arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b, predicate, x, y);
}

static Value product(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}

static Value product(ImplicitLocOpBuilder &b, double x, Value y) {
  return product(b, constant(b, y.getType(), x), y);
}

/// The logarithm of a base, exact in every type: e is said by 0.
static Value timesLogarithm(ImplicitLocOpBuilder &b, double base, Value x) {
  return base == 0 ? x : product(b, math::LogOp::create(b, constant(b, x.getType(), base)), x);
}

static Value quotient(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::DivFOp::create(b, x, y);
}

static Value choose(ImplicitLocOpBuilder &b, Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

Value unlessZero(ImplicitLocOpBuilder &b, Value grad, Value value) {
  Value zero = constant(b, grad.getType(), 0);
  Value result = choose(b, compare(b, arith::CmpFPredicate::OEQ, grad, zero), zero, value);
  result.getDefiningOp()->setAttr(kAbsorbsAttr, b.getUnitAttr());
  return result;
}

Value negated(ImplicitLocOpBuilder &b, Value x) { return arith::NegFOp::create(b, x); }

Value times(ImplicitLocOpBuilder &b, Value grad, Value factor) {
  Value result = product(b, grad, factor);
  return mayBeInfinite(factor) ? unlessZero(b, grad, result) : result;
}

//===--- derivatives -------------------------------------------------------------------------===//

Derivative derivativeOfQuotient(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                                Value grad) {
  Value divisor = op->getOperand(1);
  Value perUnit = quotient(b, grad, divisor);
  bool isNumber = PositiveValues().isPositive(divisor);
  if (operand == 1) { // by the quotient itself: the divisor's square may overflow
    isNumber &= !mayBeInfinite(op->getResult(0));
    perUnit = negated(b, product(b, perUnit, op->getResult(0)));
  }
  return isNumber ? perUnit : unlessZero(b, grad, perUnit);
}

Derivative derivativeOfChoice(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                              Value grad) {
  if (operand == 0)
    return Value();
  Value zero = constant(b, grad.getType(), 0), condition = op->getOperand(0);
  if (op->hasAttr(kAbsorbsAttr)) {
    Value value = op->getOperand(2);
    return operand == 1
               ? Value()
               : choose(b, compare(b, arith::CmpFPredicate::UNO, value, value), zero, grad);
  }
  return operand == 1 ? choose(b, condition, grad, zero) : choose(b, condition, zero, grad);
}

Derivative derivativeOfExtremum(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                                Value grad) {
  Value mine = op->getOperand(operand), other = op->getOperand(1 - operand);
  bool isMaximum = isa<arith::MaximumFOp>(op);
  Value zero = constant(b, grad.getType(), 0);
  Value loses =
      compare(b, isMaximum ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT, mine, other);
  Value tied = compare(b, arith::CmpFPredicate::OEQ, mine, other);
  Value share = product(b, 0.5, grad);
  if (auto whole = op->getAttrOfType<IntegerAttr>(kTieAttr))
    share = whole.getInt() == operand ? grad : zero;
  return choose(b, loses, zero, choose(b, tied, share, grad));
}

/// d x^y: y x^(y - 1) of x, x^y log x of y.
Derivative derivativeOfPower(Operation *op, ImplicitLocOpBuilder &b, unsigned operand, Value grad) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Value zero = constant(b, grad.getType(), 0);
  if (operand == 0) {
    Value less = b.createOrFold<SubOp>(y, constant(b, y.getType(), 1));
    Value partial = product(b, y, math::PowFOp::create(b, x, less));
    Value isConstant = compare(b, arith::CmpFPredicate::OEQ, y, zero);
    return choose(b, isConstant, zero, unlessZero(b, grad, product(b, grad, partial)));
  }
  Value partial = product(b, op->getResult(0), math::LogOp::create(b, x));
  Value isZero = arith::AndIOp::create(b, compare(b, arith::CmpFPredicate::OEQ, x, zero),
                                       compare(b, arith::CmpFPredicate::OGE, y, zero));
  return choose(b, isZero, zero, unlessZero(b, grad, product(b, grad, partial)));
}

Derivative derivativeOfExponential(Operation *op, ImplicitLocOpBuilder &b, Value grad,
                                   double base) {
  Value result = timesLogarithm(b, base, product(b, grad, op->getResult(0)));
  return isAtMostZero(op->getOperand(0)) ? result : unlessZero(b, grad, result);
}

Derivative derivativeOfLogarithm(Operation *op, ImplicitLocOpBuilder &b, Value grad, double base) {
  Value x = timesLogarithm(b, base, op->getOperand(0));
  return unlessZero(b, grad, quotient(b, grad, x));
}

Derivative derivativeOfTanh(Operation *op, ImplicitLocOpBuilder &b, Value grad) {
  Value y = op->getResult(0);
  Value partial = SubOp::create(b, constant(b, y.getType(), 1), product(b, y, y));
  return product(b, grad, partial);
}

Derivative derivativeOfErf(Operation *op, ImplicitLocOpBuilder &b, Value grad) {
  Value x = op->getOperand(0);
  Value bell = math::ExpOp::create(b, negated(b, product(b, x, x)));
  return product(b, grad, product(b, 2 * std::numbers::inv_sqrtpi, bell));
}

Derivative derivativeOfRoot(Operation *op, ImplicitLocOpBuilder &b, Value grad) {
  Value partial = product(b, 0.5, math::RsqrtOp::create(b, op->getOperand(0)));
  return unlessZero(b, grad, product(b, grad, partial));
}

Derivative derivativeOfInverseRoot(Operation *op, ImplicitLocOpBuilder &b, Value grad) {
  Value partial = quotient(b, product(b, -0.5, op->getResult(0)), op->getOperand(0));
  return unlessZero(b, grad, product(b, grad, partial));
}

/// The gradient of what is rounded passes unrounded: to 16 bits and back it is the same number.
Derivative derivativeOfConversion(Operation *op, ImplicitLocOpBuilder &b, Value grad) {
  auto from = cast<FloatType>(op->getOperand(0).getType());
  Type type = computeType(from), have = grad.getType();
  if (type == have)
    return grad;
  return type.isF64() ? Value(arith::ExtFOp::create(b, type, grad))
                      : Value(arith::TruncFOp::create(b, type, grad));
}

Derivative derivativeOfMagnitude(Operation *op, ImplicitLocOpBuilder &b, Value grad) {
  Value x = op->getOperand(0), zero = constant(b, grad.getType(), 0);
  Value below = choose(b, compare(b, arith::CmpFPredicate::OLT, x, zero), negated(b, grad), zero);
  return choose(b, compare(b, arith::CmpFPredicate::OGT, x, zero), grad, below);
}

} // namespace attnc::attn
