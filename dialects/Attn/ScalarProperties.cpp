#include "dialects/Attn/ScalarProperties.h"
#include "dialects/Attn/Attn.h"
#include "dialects/Attn/Derivatives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

#include "dialects/Attn/ScalarProperties.cpp.inc"

using namespace mlir;

namespace attnc::attn {

bool isNotNegative(Sign sign) { return sign >= Sign::Zero; }

Sign negated(Sign sign) {
  return sign == Sign::Positive   ? Sign::Negative
         : sign == Sign::Negative ? Sign::Positive
         : sign == Sign::Zero     ? Sign::Zero
                                  : Sign::Unknown;
}

Sign signOfProduct(Sign x, Sign y) {
  if (isNotNegative(x) && isNotNegative(y))
    return x == Sign::Zero || y == Sign::Zero ? Sign::Zero : std::min(x, y);
  if (x == Sign::Negative && (y == Sign::Negative || y == Sign::Positive))
    return negated(y);
  return y == Sign::Negative && x == Sign::Positive ? Sign::Negative : Sign::Unknown;
}

Sign signOfSum(Sign x, Sign y) {
  if (isNotNegative(x) && isNotNegative(y))
    return std::max(x, y);
  return x == y ? x : Sign::Unknown;
}

Sign signOfEither(Sign x, Sign y) {
  if (isNotNegative(x) && isNotNegative(y))
    return x == y ? x : Sign::NotNegative;
  return x == y ? x : Sign::Unknown;
}

Sign signOfLarger(Sign x, Sign y) {
  if (x == Sign::Positive || y == Sign::Positive)
    return Sign::Positive;
  if (isNotNegative(x) || isNotNegative(y))
    return x == y ? x : Sign::NotNegative;
  return x == y ? x : Sign::Unknown;
}

Sign signOfConstant(double value) {
  return value > 0    ? Sign::Positive
         : value < 0  ? Sign::Negative
         : value == 0 ? Sign::Zero
                      : Sign::Unknown;
}

Growth growthWithFactor(Sign factor) {
  return isNotNegative(factor)      ? Growth::Grows
         : factor == Sign::Negative ? Growth::Falls
                                    : Growth::Unknown;
}

namespace {

template <typename Model, typename Op> using External = ScalarProperties::ExternalModel<Model, Op>;

using Signs = ArrayRef<Sign>;

struct SumModel : External<SumModel, arith::AddFOp> {
  ScalarForm getForm(Operation *) const { return ScalarForm::Sum; }
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Grows; }
  Sign sign(Operation *, Signs x) const { return signOfSum(x[0], x[1]); }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return grad;
  }
};

template <typename Op> struct DifferenceModel : External<DifferenceModel<Op>, Op> {
  ScalarForm getForm(Operation *) const { return ScalarForm::Difference; }
  Growth growth(Operation *, unsigned operand, Signs) const {
    return operand == 0 ? Growth::Grows : Growth::Falls;
  }
  Sign sign(Operation *, Signs x) const { return signOfSum(x[0], negated(x[1])); }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return operand == 0 ? grad : negated(b, grad);
  }
};

struct NegationModel : External<NegationModel, arith::NegFOp> {
  ScalarForm getForm(Operation *) const { return ScalarForm::Negation; }
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Falls; }
  Sign sign(Operation *, Signs x) const { return negated(x[0]); }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return negated(b, grad);
  }
};

struct ProductModel : External<ProductModel, arith::MulFOp> {
  ScalarForm getForm(Operation *) const { return ScalarForm::Product; }
  Growth growth(Operation *, unsigned operand, Signs x) const {
    return growthWithFactor(x[1 - operand]);
  }
  Sign sign(Operation *op, Signs x) const {
    return op->getOperand(0) == op->getOperand(1) && x[0] != Sign::Positive
               ? Sign::NotNegative
               : signOfProduct(x[0], x[1]);
  }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return times(b, grad, op->getOperand(1 - operand));
  }
};

struct QuotientModel : External<QuotientModel, arith::DivFOp> {
  ScalarForm getForm(Operation *) const { return ScalarForm::Quotient; }
  Growth growth(Operation *, unsigned operand, Signs x) const {
    return operand == 0 ? growthWithFactor(x[1]) : Growth::Unknown;
  }
  Sign sign(Operation *, Signs x) const { return signOfProduct(x[0], x[1]); }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfQuotient(op, b, operand, grad);
  }
};

struct ChoiceModel : External<ChoiceModel, arith::SelectOp> {
  ScalarForm getForm(Operation *) const { return ScalarForm::Choice; }
  Sign sign(Operation *, Signs x) const { return signOfEither(x[1], x[2]); }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfChoice(op, b, operand, grad);
  }
};

template <typename Op> struct ExponentialModel : External<ExponentialModel<Op>, Op> {
  double getExponentialBase(Operation *) const { return std::is_same_v<Op, math::ExpOp> ? M_E : 2; }
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Grows; }
  Sign sign(Operation *, Signs) const { return Sign::Positive; }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfExponential(op, b, grad, std::is_same_v<Op, math::ExpOp> ? 0 : 2);
  }
};

template <typename Op> struct LogarithmModel : External<LogarithmModel<Op>, Op> {
  ScalarForm getForm(Operation *) const {
    return std::is_same_v<Op, math::LogOp> ? ScalarForm::Logarithm : ScalarForm::Other;
  }
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Grows; }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfLogarithm(op, b, grad, std::is_same_v<Op, math::LogOp> ? 0 : 2);
  }
};

template <typename Op> struct ExtremumModel : External<ExtremumModel<Op>, Op> {
  bool isPositivelyHomogeneous(Operation *) const { return true; }
  bool isOneOfOperands(Operation *) const { return true; }
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Grows; }
  Sign sign(Operation *, Signs x) const {
    return std::is_same_v<Op, arith::MaximumFOp> ? signOfLarger(x[0], x[1])
                                                 : signOfEither(x[0], x[1]);
  }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfExtremum(op, b, operand, grad);
  }
};

/// tanh, erf: they grow, keep the sign and stay below 1.
template <typename Op> struct SigmoidModel : External<SigmoidModel<Op>, Op> {
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Grows; }
  Sign sign(Operation *, Signs x) const {
    return isNotNegative(x[0]) ? Sign::NotNegative : Sign::Unknown;
  }
  bool isBoundedAbove(Operation *) const { return true; }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return std::is_same_v<Op, math::TanhOp> ? derivativeOfTanh(op, b, grad)
                                            : derivativeOfErf(op, b, grad);
  }
};

OpFoldResult powerOf(Operation *op, double n) {
  return FloatAttr::get(op->getResult(0).getType(), n);
}

/// x^n: of what is not negative it grows if n is not, and is not negative either.
struct PowerModel : External<PowerModel, math::PowFOp> {
  OpFoldResult getPower(Operation *op) const { return op->getOperand(1); }
  Growth growth(Operation *, unsigned operand, Signs x) const {
    return operand == 0 && isNotNegative(x[0]) ? growthWithFactor(x[1]) : Growth::Unknown;
  }
  Sign sign(Operation *, Signs x) const {
    return x[0] == Sign::Positive ? Sign::Positive
           : isNotNegative(x[0])  ? Sign::NotNegative
                                  : Sign::Unknown;
  }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfPower(op, b, operand, grad);
  }
};

/// Conversions and roots: they grow and keep what is not negative.
template <typename Op> struct GrowingModel : External<GrowingModel<Op>, Op> {
  OpFoldResult getPower(Operation *op) const {
    return std::is_same_v<Op, math::SqrtOp> ? powerOf(op, 0.5) : OpFoldResult();
  }
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Grows; }
  Sign sign(Operation *, Signs x) const {
    bool isRoot = std::is_same_v<Op, math::SqrtOp>;
    return isRoot || isNotNegative(x[0]) ? Sign::NotNegative : Sign::Unknown;
  }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return std::is_same_v<Op, math::SqrtOp> ? derivativeOfRoot(op, b, grad)
                                            : derivativeOfConversion(op, b, grad);
  }
};

struct MagnitudeModel : External<MagnitudeModel, math::AbsFOp> {
  bool isPositivelyHomogeneous(Operation *) const { return true; }
  Sign sign(Operation *, Signs) const { return Sign::NotNegative; }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfMagnitude(op, b, grad);
  }
};

struct InverseRootModel : External<InverseRootModel, math::RsqrtOp> {
  OpFoldResult getPower(Operation *op) const { return powerOf(op, -0.5); }
  Growth growth(Operation *, unsigned, Signs) const { return Growth::Falls; }
  Sign sign(Operation *, Signs) const { return Sign::NotNegative; }
  Derivative buildDerivative(Operation *op, ImplicitLocOpBuilder &b, unsigned operand,
                             Value grad) const {
    return derivativeOfInverseRoot(op, b, grad);
  }
};

/// What is constant between its steps.
template <typename Op> struct StepModel : External<StepModel<Op>, Op> {
  Derivative buildDerivative(Operation *, ImplicitLocOpBuilder &, unsigned, Value) const {
    return Value();
  }
};

} // namespace

void attachScalarProperties(MLIRContext &context) {
  arith::AddFOp::attachInterface<SumModel>(context);
  SubOp::attachInterface<DifferenceModel<SubOp>>(context);
  arith::NegFOp::attachInterface<NegationModel>(context);
  arith::MulFOp::attachInterface<ProductModel>(context);
  arith::DivFOp::attachInterface<QuotientModel>(context);
  arith::SelectOp::attachInterface<ChoiceModel>(context);
  arith::MaximumFOp::attachInterface<ExtremumModel<arith::MaximumFOp>>(context);
  arith::MinimumFOp::attachInterface<ExtremumModel<arith::MinimumFOp>>(context);
  arith::ExtFOp::attachInterface<GrowingModel<arith::ExtFOp>>(context);
  arith::TruncFOp::attachInterface<GrowingModel<arith::TruncFOp>>(context);
  math::ExpOp::attachInterface<ExponentialModel<math::ExpOp>>(context);
  math::Exp2Op::attachInterface<ExponentialModel<math::Exp2Op>>(context);
  math::LogOp::attachInterface<LogarithmModel<math::LogOp>>(context);
  math::Log2Op::attachInterface<LogarithmModel<math::Log2Op>>(context);
  math::TanhOp::attachInterface<SigmoidModel<math::TanhOp>>(context);
  math::ErfOp::attachInterface<SigmoidModel<math::ErfOp>>(context);
  math::SqrtOp::attachInterface<GrowingModel<math::SqrtOp>>(context);
  math::PowFOp::attachInterface<PowerModel>(context);
  math::AbsFOp::attachInterface<MagnitudeModel>(context);
  math::RsqrtOp::attachInterface<InverseRootModel>(context);
  math::FloorOp::attachInterface<StepModel<math::FloorOp>>(context);
}

} // namespace attnc::attn
