#include "compiler/driver/checks/exponent_range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"

#include <cmath>

using namespace mlir;

namespace attnc::driver {

// The largest argument whose exponential float64 holds, about; the smallest is its negative.
static constexpr double kLargestExponent = 700;

// Arguments below this are brought nearer to it, in their order, instead of all to the smallest: a
// sum of exponentials that vanish has the ratios of none, nor of equal ones.
static constexpr double kVanishing = -600;

// What happens to an argument beyond the largest one.
enum class Beyond { Clipped, NaN };

// True if there are exponentials.
static bool limitExponents(attn::ProgramOp program, Beyond beyond) {
  bool any = false;
  program.getBody().walk([&](Operation *op) {
    if (!isa<math::ExpOp, math::Exp2Op>(op))
      return;
    any = true;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value x = op->getOperand(0);
    auto constant = [&](double value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), value));
    };
    if (beyond == Beyond::NaN) {
      Value large =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, constant(kLargestExponent));
      op->setOperand(0, arith::SelectOp::create(b, loc, large, constant(NAN), x));
      return;
    }
    Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, constant(-INFINITY));
    Value clipped = arith::MinimumFOp::create(b, loc, x, constant(kLargestExponent));
    // From kVanishing at kVanishing down to the smallest one at -inf.
    double reach = kLargestExponent + kVanishing;
    Value share = arith::DivFOp::create(b, loc, constant(reach * kVanishing), x);
    Value near = arith::AddFOp::create(b, loc, share, constant(-kLargestExponent));
    Value vanishes =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, constant(kVanishing));
    clipped = arith::SelectOp::create(b, loc, vanishes, near, clipped);
    op->setOperand(0, arith::SelectOp::create(b, loc, empty, x, clipped));
  });
  return any;
}

static llvm::Expected<evaluator::Outputs> evaluateLimited(attn::ProgramOp program,
                                                          const evaluator::EvalInputs &inputs,
                                                          const evaluator::EvalOptions &options,
                                                          Beyond beyond) {
  OwningOpRef<attn::ProgramOp> limited(cast<attn::ProgramOp>(program->clone()));
  if (!limitExponents(*limited, beyond))
    return evaluator::Outputs();
  return evaluator::evaluate(*limited, inputs, options);
}

llvm::Expected<evaluator::Outputs> evaluateInRange(attn::ProgramOp program,
                                                   const evaluator::EvalInputs &inputs,
                                                   const evaluator::EvalOptions &options) {
  return evaluateLimited(program, inputs, options, Beyond::Clipped);
}

llvm::Expected<evaluator::Outputs> evaluateWithoutOverflow(attn::ProgramOp program,
                                                           const evaluator::EvalInputs &inputs,
                                                           const evaluator::EvalOptions &options) {
  return evaluateLimited(program, inputs, options, Beyond::NaN);
}

llvm::Expected<evaluator::Outputs>
evaluateWithoutInfiniteSums(attn::ProgramOp program, const evaluator::EvalInputs &inputs,
                            const evaluator::EvalOptions &options) {
  OwningOpRef<attn::ProgramOp> limited(cast<attn::ProgramOp>(program->clone()));
  limited->walk([&](attn::ReduceOp sum) {
    if (sum.getKind() != attn::ReduceKind::Add || !isa<FloatType>(sum.getType().getElementType()))
      return;
    OpBuilder b(sum->getContext());
    b.setInsertionPointAfter(sum);
    auto finite = attn::MapOp::create(
        b, sum.getLoc(), sum.getType(), sum.getResult(),
        [](OpBuilder &inner, Location at, ValueRange x) -> Value {
          auto constant = [&](double value) -> Value {
            return arith::ConstantOp::create(inner, at, inner.getFloatAttr(x[0].getType(), value));
          };
          Value size = math::AbsFOp::create(inner, at, x[0]);
          Value infinite =
              arith::CmpFOp::create(inner, at, arith::CmpFPredicate::OEQ, size, constant(INFINITY));
          return arith::SelectOp::create(inner, at, infinite, constant(NAN), x[0]);
        });
    sum.getResult().replaceAllUsesExcept(finite, finite);
  });
  return evaluator::evaluate(*limited, inputs, options);
}

// `predicate` with the opposite answer where an operand is NaN, and the same answer elsewhere.
static arith::CmpFPredicate turned(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  constexpr std::pair<P, P> kTurned[] = {{P::OEQ, P::UEQ}, {P::ONE, P::UNE}, {P::OLT, P::ULT},
                                         {P::OLE, P::ULE}, {P::OGT, P::UGT}, {P::OGE, P::UGE}};
  for (auto [ordered, unordered] : kTurned)
    if (predicate == ordered || predicate == unordered)
      return predicate == ordered ? unordered : ordered;
  return predicate; // it asks for NaN, or for nothing
}

// True if there are comparisons.
static bool turnComparisons(attn::ProgramOp program) {
  bool any = false;
  program.getBody().walk([&](arith::CmpFOp compare) {
    any = true;
    compare.setPredicate(turned(compare.getPredicate()));
  });
  return any;
}

llvm::Expected<evaluator::Outputs>
evaluateWithTurnedComparisons(attn::ProgramOp program, const evaluator::EvalInputs &inputs,
                              const evaluator::EvalOptions &options) {
  OwningOpRef<attn::ProgramOp> other(cast<attn::ProgramOp>(program->clone()));
  if (!turnComparisons(*other))
    return evaluator::Outputs();
  limitExponents(*other, Beyond::NaN);
  return evaluator::evaluate(*other, inputs, options);
}

llvm::Expected<evaluator::Outputs>
evaluateWithTurnedOverflow(attn::ProgramOp program, const evaluator::Outputs &written,
                           const evaluator::EvalInputs &inputs,
                           const evaluator::EvalOptions &options) {
  OwningOpRef<attn::ProgramOp> other(cast<attn::ProgramOp>(program->clone()));
  if (!turnComparisons(*other))
    return evaluator::Outputs();
  auto marked = evaluateLimited(*other, inputs, options, Beyond::NaN);
  if (!marked || marked->empty())
    return marked;
  auto inRange = evaluateLimited(program, inputs, options, Beyond::Clipped);
  if (!inRange)
    return inRange.takeError();
  auto turnedInRange = evaluateLimited(*other, inputs, options, Beyond::Clipped);
  if (!turnedInRange)
    return turnedInRange.takeError();
  for (auto &[name, array] : *marked)
    for (auto [i, value] : llvm::enumerate(array.value)) {
      double x = inRange->at(name).value[i], y = turnedInRange->at(name).value[i];
      if (x != y && !(std::isnan(x) && std::isnan(y)))
        value = written.at(name).value[i];
    }
  return marked;
}

void doubtOverflow(evaluator::Outputs &expected, const evaluator::Outputs &inRange) {
  for (const auto &[name, kept] : inRange) {
    evaluator::Array &array = expected.at(name);
    if (array.kind != evaluator::ElementKind::Real)
      continue;
    array.error.resize(array.value.size(), 0);
    for (size_t i = 0; i < array.value.size(); ++i)
      if (kept.value[i] != array.value[i] && !std::isnan(kept.value[i]))
        array.error[i] = INFINITY;
  }
}

} // namespace attnc::driver
