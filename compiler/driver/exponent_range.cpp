#include "compiler/driver/exponent_range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"

#include <cmath>

using namespace mlir;

namespace attnc::driver {

// The largest argument whose exponential float64 holds, about; the smallest is its negative.
static constexpr double kLargestExponent = 700;

// True if there are exponentials.
static bool clipExponents(attn::ProgramOp program) {
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
    Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, constant(-INFINITY));
    Value clipped = arith::MinimumFOp::create(b, loc, x, constant(kLargestExponent));
    clipped = arith::MaximumFOp::create(b, loc, clipped, constant(-kLargestExponent));
    op->setOperand(0, arith::SelectOp::create(b, loc, empty, x, clipped));
  });
  return any;
}

llvm::Expected<evaluator::Outputs> evaluateInRange(attn::ProgramOp program,
                                                   const evaluator::EvalInputs &inputs,
                                                   const evaluator::EvalOptions &options) {
  OwningOpRef<attn::ProgramOp> clipped(cast<attn::ProgramOp>(program->clone()));
  if (!clipExponents(*clipped))
    return evaluator::Outputs();
  return evaluator::evaluate(*clipped, inputs, options);
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
