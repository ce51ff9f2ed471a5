#include "compiler/schedule/nest/map_parts.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {

// The scalar and what it is computed from in the map, each once.
static llvm::SetVector<Value> sliceOf(Value scalar) {
  llvm::SetVector<Value> slice;
  slice.insert(scalar);
  for (size_t i = 0; i < slice.size(); ++i)
    if (Operation *op = slice[i].getDefiningOp())
      slice.insert(op->operand_begin(), op->operand_end());
  return slice;
}

SmallVector<Value> operandsOf(attn::MapOp map, Value scalar) {
  SmallVector<Value> operands;
  for (Value value : sliceOf(scalar))
    if (auto argument = dyn_cast<BlockArgument>(value))
      operands.push_back(map.getOperand(argument.getArgNumber()));
  return operands;
}

attn::ArrayType typeOfPart(attn::MapOp map, ValueRange arrays, Type element) {
  SmallVector<StringAttr> dims;
  for (StringAttr dim : cast<attn::ArrayType>(map.getResult().getType()).getDims())
    if (llvm::any_of(arrays, [&](Value array) {
          return cast<attn::ArrayType>(array.getType()).hasDim(dim);
        }))
      dims.push_back(dim);
  return attn::ArrayType::get(map.getContext(), dims, element);
}

Value arrayOf(OpBuilder &b, attn::MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return map.getOperand(argument.getArgNumber());
  llvm::SetVector<Value> slice = sliceOf(scalar);
  SmallVector<Value> arguments, arrays = operandsOf(map, scalar);
  llvm::copy_if(slice, std::back_inserter(arguments), llvm::IsaPred<BlockArgument>);
  auto part =
      attn::MapOp::create(b, scalar.getLoc(), typeOfPart(map, arrays, scalar.getType()), arrays);
  IRMapping mapping;
  mapping.map(arguments, part.getBodyBlock()->getArguments());
  OpBuilder inside = OpBuilder::atBlockEnd(part.getBodyBlock());
  for (Operation &op : map.getBodyBlock()->without_terminator())
    if (slice.contains(op.getResult(0)))
      inside.clone(op, mapping);
  attn::YieldOp::create(inside, scalar.getLoc(), mapping.lookup(scalar));
  return part.getResult();
}

bool hasDim(attn::MapOp map, Value scalar, StringAttr dim) {
  return llvm::any_of(operandsOf(map, scalar), [&](Value array) {
    return cast<attn::ArrayType>(array.getType()).hasDim(dim);
  });
}

Value addOperand(attn::MapOp map, Value array) {
  SmallVector<Value> operands(map.getOperands());
  operands.push_back(array);
  map->setOperands(operands);
  return map.getBodyBlock()->addArgument(cast<attn::ArrayType>(array.getType()).getElementType(),
                                         array.getLoc());
}

void eraseUnused(attn::MapOp map) {
  Block &body = *map.getBodyBlock();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!isa<attn::YieldOp>(op) && op.use_empty())
      op.erase();
  SmallVector<Value> operands(map.getOperands());
  for (unsigned i = operands.size(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      operands.erase(operands.begin() + i);
    }
  map->setOperands(operands);
}

} // namespace attnc::schedule
