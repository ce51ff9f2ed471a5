#include "compiler/evaluator/reverse/scalar_derivatives.h"
#include "compiler/evaluator/float64/scalar_program.h"
#include "dialects/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// Which operand of a maximum or minimum has all of the adjoint where both are equal.
constexpr StringRef kTieAttr = "attn.tie";
/// Of a choice of 0 where a gradient is 0, which stands for the product that it does not take.
constexpr StringRef kAbsorbsAttr = "attn.absorbs";

Share ofQuotient(double g, Point at) { return {g / at.y, -(g / at.y) * (at.x / at.y)}; }

Share ofPower(double g, Point at) {
  double base = at.y == 0 ? 0 : g * at.y * std::pow(at.x, at.y - 1);
  double exponent = at.x == 0 && at.y >= 0 ? 0 : g * at.result * std::log(at.x);
  return {base, exponent};
}

Share ofMagnitude(double g, Point at) { return {at.x > 0 ? g : at.x < 0 ? -g : 0}; }

/// 1 - tanh^2 as 1 / cosh^2, which loses no digits where tanh is near 1.
Share ofHyperbolicTangent(double g, Point at) {
  double inverse = 1 / std::cosh(at.x);
  return {g * inverse * inverse};
}

Share ofErrorFunction(double g, Point at) {
  return {g * 2 * std::numbers::inv_sqrtpi * std::exp(-at.x * at.x)};
}

/// Of an extremum: `beaten` says that the first number is not the extremum beside the second. Where
/// one is NaN, neither beats the other and both get g.
template <bool (*beaten)(double, double), int tie> Share ofExtremum(double g, Point at) {
  if (at.x == at.y)
    return tie == 0 ? Share{g, 0} : tie == 1 ? Share{0, g} : Share{g / 2, g / 2};
  return {beaten(at.x, at.y) ? 0 : g, beaten(at.y, at.x) ? 0 : g};
}

bool isLess(double x, double y) { return x < y; }
bool isGreater(double x, double y) { return x > y; }

template <bool (*beaten)(double, double)> ShareRule extremumRule(Operation &op) {
  auto tie = op.getAttrOfType<IntegerAttr>(kTieAttr);
  if (!tie)
    return ofExtremum<beaten, -1>;
  return tie.getInt() == 0 ? ofExtremum<beaten, 0> : ofExtremum<beaten, 1>;
}

/// Of ops with two operands.
ShareRule binaryRule(Operation &op) {
  return llvm::TypeSwitch<Operation *, ShareRule>(&op)
      .Case([](arith::AddFOp) { return [](double g, Point) { return Share{g, g}; }; })
      .Case<arith::SubFOp, attn::SubOp>(
          [](auto) { return [](double g, Point) { return Share{g, -g}; }; })
      .Case([](arith::MulFOp) {
        return [](double g, Point at) { return Share{g * at.y, g * at.x}; };
      })
      .Case([](arith::DivFOp) { return ofQuotient; })
      .Case([](math::PowFOp) { return ofPower; })
      .Case([&](arith::MaximumFOp) { return extremumRule<isLess>(op); })
      .Case([&](arith::MinimumFOp) { return extremumRule<isGreater>(op); })
      .Default([](Operation *) -> ShareRule { return nullptr; });
}

/// Of ops with one operand.
ShareRule unaryRule(Operation &op) {
  using std::numbers::ln2;
  return llvm::TypeSwitch<Operation *, ShareRule>(&op)
      .Case([](arith::NegFOp) { return [](double g, Point) { return Share{-g}; }; })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [](auto) { return [](double g, Point) { return Share{g}; }; })
      .Case([](math::AbsFOp) { return ofMagnitude; })
      .Case([](math::ExpOp) { return [](double g, Point at) { return Share{g * at.result}; }; })
      .Case([](math::Exp2Op) {
        return [](double g, Point at) { return Share{g * at.result * ln2}; };
      })
      .Case([](math::LogOp) { return [](double g, Point at) { return Share{g / at.x}; }; })
      .Case([](math::Log2Op) { return [](double g, Point at) { return Share{g / (at.x * ln2)}; }; })
      .Case([](math::SqrtOp) {
        return [](double g, Point at) { return Share{g / (2 * at.result)}; };
      })
      .Case([](math::RsqrtOp) {
        return [](double g, Point at) { return Share{-g / 2 * at.result / at.x}; };
      })
      .Case([](math::TanhOp) { return ofHyperbolicTangent; })
      .Case([](math::ErfOp) { return ofErrorFunction; })
      .Default([](Operation *) -> ShareRule { return nullptr; });
}

Share ofChoice(double g, Point at) { return at.taken ? Share{g, 0} : Share{0, g}; }

/// A gradient of 0 times infinity has no slope that is a number.
Share ofAbsorption(double g, Point at) { return {0, std::isnan(at.y) ? 0 : g}; }

/// Steps have slope 0, and what is made of integers or of nothing has no reals to depend on.
bool isConstantAlmostEverywhere(Operation &op) {
  return isa<arith::ConstantOp, arith::SIToFPOp, arith::UIToFPOp, math::FloorOp, math::CeilOp,
             attn::RandOp>(op);
}

} // namespace

llvm::Expected<Derivative> derivativeOf(Operation &op) {
  if (isConstantAlmostEverywhere(op))
    return Derivative();
  if (isa<arith::SelectOp>(op))
    return Derivative{op.hasAttr(kAbsorbsAttr) ? ofAbsorption : ofChoice, 1, 2};
  if (ShareRule rule = unaryRule(op))
    return Derivative{rule, 0, 1};
  if (ShareRule rule = binaryRule(op))
    return Derivative{rule, 0, 2};
  return llvm::createStringError("%sthe reverse mode has no rule for %s",
                                 placePrefix(op.getLoc()).c_str(),
                                 op.getName().getStringRef().str().c_str());
}

} // namespace attnc::evaluator
