#include "compiler/driver/checks/undefined_values.h"
#include "mlir/IR/IRMapping.h"
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

static bool anyElement(const evaluator::Outputs &outputs, bool (*is)(double)) {
  return llvm::any_of(outputs,
                      [&](const auto &output) { return llvm::any_of(output.second.value, is); });
}

bool hasFiniteOutputs(attn::ProgramOp program, const EvalInputs &inputs) {
  auto outputs = outputsOf(program, inputs);
  return outputs && !anyElement(*outputs, [](double x) { return !std::isfinite(x); });
}

/// A copy of the map that yields another scalar of its region.
static Value yielding(OpBuilder &b, attn::MapOp map, Value scalar) {
  IRMapping mapping;
  auto copy = cast<attn::MapOp>(b.clone(*map, mapping));
  copy.getBodyBlock()->getTerminator()->setOperand(0, mapping.lookup(scalar));
  copy.getResult().setType(
      attn::ArrayType::get(b.getContext(), map.getType().getDims(), scalar.getType()));
  return copy;
}

/// Makes each real of the program an output, those of formulas too.
static void showValues(attn::ProgramOp program) {
  OpBuilder b = OpBuilder::atBlockEnd(program.getBodyBlock());
  unsigned number = 0;
  auto show = [&](Value array) {
    auto type = cast<attn::ArrayType>(array.getType());
    SmallVector<Attribute> dims(type.getDims().begin(), type.getDims().end());
    attn::OutputOp::create(b, array.getLoc(), "value_" + std::to_string(number++), array,
                           b.getArrayAttr(dims), type.getElementType());
  };
  for (auto map : llvm::to_vector(program.getBodyBlock()->getOps<attn::MapOp>()))
    for (Operation &op : map.getBodyBlock()->without_terminator())
      if (isa<FloatType>(op.getResult(0).getType()))
        show(yielding(b, map, op.getResult(0)));
  for (auto reduce : llvm::to_vector(program.getBodyBlock()->getOps<attn::ReduceOp>()))
    if (isa<FloatType>(reduce.getType().getElementType()))
      show(reduce);
}

bool computesNaN(attn::ProgramOp program, const EvalInputs &inputs) {
  OwningOpRef<attn::ProgramOp> shown(cast<attn::ProgramOp>(program->clone()));
  showValues(*shown);
  auto values = outputsOf(*shown, inputs);
  return values && anyElement(*values, [](double x) { return std::isnan(x); });
}

} // namespace attnc::driver
