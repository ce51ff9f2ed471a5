#include "compiler/driver/checks/undefined_values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"
#include <cmath>
#include <optional>

using namespace mlir;

namespace attnc::driver {

using evaluator::EvalInputs;

static std::optional<evaluator::Outputs> outputsOf(attn::ProgramOp program,
                                                   const EvalInputs &inputs) {
  evaluator::EvalOptions options;
  options.threads = 1;
  auto outputs = evaluator::evaluate(program, inputs, options);
  if (outputs)
    return std::move(*outputs);
  llvm::consumeError(outputs.takeError());
  return std::nullopt;
}

bool hasDefinedOutputs(attn::ProgramOp program, const EvalInputs &inputs) {
  auto outputs = outputsOf(program, inputs);
  return outputs && llvm::all_of(*outputs, [](const auto &output) {
           return llvm::all_of(output.second.value, [](double x) {
             return x < std::numeric_limits<double>::infinity();
           });
         });
}

/// Whether the op, in a region, gives NaN, or infinity of finite operands. Logarithms and roots do
/// so too, but derivatives expect it of them.
static Value isUndefined(ImplicitLocOpBuilder &b, Operation *op) {
  Type type = op->getResult(0).getType();
  Value result = op->getResult(0);
  Value infinity =
      arith::ConstantOp::create(b, b.getFloatAttr(type, std::numeric_limits<double>::infinity()));
  auto compare = [&](arith::CmpFPredicate predicate, Value x) -> Value {
    return arith::CmpFOp::create(b, predicate, math::AbsFOp::create(b, x), infinity);
  };
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, result, result);
  if (!isa<arith::DivFOp, arith::MulFOp, arith::AddFOp, attn::SubOp, math::PowFOp, math::ExpOp,
           math::Exp2Op>(op))
    return isNaN;
  Value overflows = compare(arith::CmpFPredicate::OEQ, result);
  for (Value operand : op->getOperands())
    overflows = arith::AndIOp::create(b, overflows, compare(arith::CmpFPredicate::OLT, operand));
  return arith::OrIOp::create(b, isNaN, overflows);
}

/// A copy of the map that yields that of an op of its region.
static Value yieldingUndefined(OpBuilder &b, attn::MapOp map, Operation *op) {
  IRMapping mapping;
  auto copy = cast<attn::MapOp>(b.clone(*map, mapping));
  Operation *terminator = copy.getBodyBlock()->getTerminator();
  ImplicitLocOpBuilder inner(map.getLoc(), terminator);
  terminator->setOperand(0, isUndefined(inner, mapping.lookup(op)));
  copy.getResult().setType(
      attn::ArrayType::get(b.getContext(), map.getType().getDims(), b.getI1Type()));
  return copy;
}

/// Whether elements are NaN, as a softmax of +inf is.
static Value elementsAreNaN(OpBuilder &b, Value array) {
  auto dims = cast<attn::ArrayType>(array.getType()).getDims();
  return attn::MapOp::create(
      b, array.getLoc(), attn::ArrayType::get(b.getContext(), dims, b.getI1Type()), array,
      [](OpBuilder &inner, Location at, ValueRange x) -> Value {
        return arith::CmpFOp::create(inner, at, arith::CmpFPredicate::UNO, x[0], x[0]);
      });
}

/// Replaces the outputs by conditions, one for each real of a formula: that it is undefined.
static void showUndefined(attn::ProgramOp program) {
  for (auto output : llvm::make_early_inc_range(program.getBodyBlock()->getOps<attn::OutputOp>()))
    output.erase();
  OpBuilder b = OpBuilder::atBlockEnd(program.getBodyBlock());
  unsigned number = 0;
  auto show = [&](Value condition) {
    auto dims = cast<attn::ArrayType>(condition.getType()).getDims();
    SmallVector<Attribute> attributes(dims.begin(), dims.end());
    attn::OutputOp::create(b, condition.getLoc(), "value_" + std::to_string(number++), condition,
                           b.getArrayAttr(attributes), b.getI1Type());
  };
  for (Operation &op : llvm::make_early_inc_range(*program.getBodyBlock()))
    if (isa<attn::SoftmaxOp, attn::ReduceOp>(op) &&
        isa<FloatType>(cast<attn::ArrayType>(op.getResult(0).getType()).getElementType()))
      show(elementsAreNaN(b, op.getResult(0)));
  for (auto map : llvm::to_vector(program.getBodyBlock()->getOps<attn::MapOp>()))
    for (Operation &op : map.getBodyBlock()->without_terminator())
      if (isa<FloatType>(op.getResult(0).getType()))
        show(yieldingUndefined(b, map, &op));
}

bool computesUndefined(attn::ProgramOp program, const EvalInputs &inputs) {
  OwningOpRef<attn::ProgramOp> shown(cast<attn::ProgramOp>(program->clone()));
  showUndefined(*shown);
  auto values = outputsOf(*shown, inputs);
  return values && llvm::any_of(*values, [](const auto &output) {
           return llvm::any_of(output.second.integer, [](int64_t is) { return is != 0; });
         });
}

} // namespace attnc::driver
