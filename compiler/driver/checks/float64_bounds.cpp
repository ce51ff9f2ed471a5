#include "compiler/driver/checks/float64_bounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace attnc::driver {
namespace {

Type widened(Type type) {
  Type wide = Float64Type::get(type.getContext());
  if (isa<FloatType>(type))
    return wide;
  auto array = dyn_cast<attn::ArrayType>(type);
  if (!array || !isa<FloatType>(array.getElementType()))
    return type;
  return attn::ArrayType::get(type.getContext(), array.getDims(), wide);
}

bool roundsItself(attn::ProgramOp program) {
  return program
      .walk([](arith::TruncFOp op) {
        Type type = op.getType();
        return type.isF16() || type.isBF16() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Params are exact, and are as f32 has them.
void widen(Operation *op) {
  if (isa<attn::ParamOp>(op))
    return;
  for (Value result : op->getResults())
    result.setType(widened(result.getType()));
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      argument.setType(widened(argument.getType()));
  if (auto tanh = dyn_cast<math::TanhOp>(op))
    tanh.setFastmath(arith::FastMathFlags::none); // there is no approximate one of float64
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      constant.setValueAttr(FloatAttr::get(constant.getType(), number.getValueAsDouble()));
}

} // namespace

llvm::Expected<evaluator::Outputs> evaluateInFloat64(attn::ProgramOp program,
                                                     const evaluator::EvalInputs &inputs,
                                                     const evaluator::EvalOptions &options) {
  if (roundsItself(program))
    return evaluator::Outputs();
  OwningOpRef<attn::ProgramOp> wide(cast<attn::ProgramOp>(program->clone()));
  wide->getBody().walk(widen);
  return evaluator::evaluate(*wide, inputs, options);
}

} // namespace attnc::driver
