#include "compiler/transforms/read_adjoints/access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

Dims Access::axes() const {
  return llvm::map_to_vector(subscripts, [](const Subscript &s) { return s.axis; });
}

bool Access::isPlain(StringAttr axis) const {
  return llvm::any_of(subscripts, [&](const Subscript &s) { return s.axis == axis && !s.value; });
}

Access accessOf(ArrayBuilder &arrays, ReadOp read) {
  Access access;
  for (auto [number, axis] : llvm::enumerate(read.getSource().getType().getDims())) {
    Value value = read.subscriptValue(number);
    StringAttr dim = read.subscriptDim(number);
    access.subscripts.push_back({axis, value || dim == axis ? value : arrays.index(dim)});
  }
  llvm::append_range(access.places, dimsOf(read.getResult()));
  return access;
}

Value isWithin(ArrayBuilder &arrays, Value index, StringAttr dim) {
  return arrays.map({index, arrays.size(dim)}, arrays.builder().getI1Type(),
                    [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                      Value zero = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
                      return arith::AndIOp::create(
                          b, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, x[0], zero),
                          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x[0], x[1]));
                    });
}

/// The arguments and the ops that a scalar is computed from.
static llvm::SetVector<Value> reached(Value scalar) {
  llvm::SetVector<Value> found;
  found.insert(scalar);
  for (size_t i = 0; i < found.size(); ++i)
    if (Operation *op = found[i].getDefiningOp())
      found.insert(op->operand_begin(), op->operand_end());
  return found;
}

Value yieldOf(ArrayBuilder &arrays, MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return map.getOperand(argument.getArgNumber());
  llvm::SetVector<Value> used = reached(scalar);
  SmallVector<Value> arguments, operands;
  for (BlockArgument argument : map.getBodyBlock()->getArguments())
    if (used.contains(argument)) {
      arguments.push_back(argument);
      operands.push_back(map.getOperand(argument.getArgNumber()));
    }
  return arrays.map(operands, scalar.getType(),
                    [&](ImplicitLocOpBuilder &b, ValueRange scalars) -> Value {
                      IRMapping mapping;
                      mapping.map(arguments, scalars);
                      for (Operation &op : map.getBodyBlock()->without_terminator())
                        if (used.contains(op.getResult(0)))
                          b.clone(op, mapping);
                      return mapping.lookup(scalar);
                    });
}

} // namespace attnc
