#include "compiler/evaluator/reverse/adjoints.h"

using namespace mlir;

namespace attnc::evaluator {

bool isReal(Value array) {
  return isa<FloatType>(cast<attn::ArrayType>(array.getType()).getElementType());
}

Adjoints::Adjoints(attn::ProgramOp program, ArrayRef<Value> wanted, const ArrayValues &values,
                   Memory &memory, Sweep sweep)
    : values(values), memory(memory), kind(sweep), active(wanted.begin(), wanted.end()) {
  for (Operation &op : *program.getBodyBlock())
    if (op.getNumResults() == 1 && isReal(op.getResult(0)) &&
        llvm::any_of(op.getOperands(), [&](Value operand) { return isActive(operand); }))
      active.insert(op.getResult(0));
}

llvm::Expected<Tensor> Adjoints::of(Value array) {
  if (auto found = sums.find(array); found != sums.end())
    return found->second;
  Space space = values.spaceOf(cast<attn::ArrayType>(array.getType()).getDims());
  llvm::Expected<Tensor> zeros = makeZeros(memory, space, ElementKind::Real);
  if (zeros)
    sums[array] = *zeros;
  return zeros;
}

const Tensor *Adjoints::find(Value array) const {
  auto found = sums.find(array);
  return found == sums.end() ? nullptr : &found->second;
}

} // namespace attnc::evaluator
