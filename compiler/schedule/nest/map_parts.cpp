#include "compiler/schedule/nest/map_parts.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {

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
  llvm::SetVector<Value> slice, arguments;
  slice.insert(scalar);
  for (size_t i = 0; i < slice.size(); ++i)
    if (auto argument = dyn_cast<BlockArgument>(slice[i]))
      arguments.insert(argument);
    else
      slice.insert(slice[i].getDefiningOp()->operand_begin(),
                   slice[i].getDefiningOp()->operand_end());
  SmallVector<Value> arrays;
  for (Value argument : arguments)
    arrays.push_back(map.getOperand(cast<BlockArgument>(argument).getArgNumber()));
  auto part =
      attn::MapOp::create(b, scalar.getLoc(), typeOfPart(map, arrays, scalar.getType()), arrays);
  IRMapping mapping;
  mapping.map(arguments.getArrayRef(), part.getBodyBlock()->getArguments());
  OpBuilder inside = OpBuilder::atBlockEnd(part.getBodyBlock());
  for (Operation &op : map.getBodyBlock()->without_terminator())
    if (slice.contains(op.getResult(0)))
      inside.clone(op, mapping);
  attn::YieldOp::create(inside, scalar.getLoc(), mapping.lookup(scalar));
  return part.getResult();
}

bool hasDim(attn::MapOp map, Value scalar, StringAttr dim) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return cast<attn::ArrayType>(map.getOperand(argument.getArgNumber()).getType()).hasDim(dim);
  return llvm::any_of(scalar.getDefiningOp()->getOperands(),
                      [&](Value operand) { return hasDim(map, operand, dim); });
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
