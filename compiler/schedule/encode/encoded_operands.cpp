#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/planned_nest.h"

using namespace mlir;

namespace attnc::schedule {

bool isEncoded(const OperandTile &operand) { return tile::elementType(operand.element).isSplit; }

bool hasEncoded(const StreamPlan &plan) {
  return llvm::any_of(plan.streamed, isEncoded) ||
         llvm::any_of(plan.contractions,
                      [](const Contraction &each) { return isEncoded(each.resident); });
}

SmallVector<red::EncodeOp> encodingsOf(red::NestOp nest) {
  SmallVector<red::EncodeOp> found;
  for (auto op = dyn_cast_or_null<red::EncodeOp>(nest->getPrevNode()); op;
       op = dyn_cast_or_null<red::EncodeOp>(op->getPrevNode()))
    found.insert(found.begin(), op);
  return found;
}

void encodeOperands(red::NestOp nest) {
  for (red::EncodeOp old : encodingsOf(nest))
    old.erase();
  auto schedule = tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr());
  PlannedNest planned(nest);
  if (!schedule || !planned.stream())
    return;
  OpBuilder b(nest);
  auto encode = [&](const OperandTile &operand, int64_t rows) {
    if (!isEncoded(operand) || encodingOf(nest, operand.tensorRead(), operand.rowAxis))
      return;
    Value tensor = operand.tensorRead().getSource();
    red::EncodeOp::create(b, tensor.getLoc(), tensor, operand.rowAxis, rows);
  };
  for (const OperandTile &operand : planned.stream()->streamed)
    encode(operand, schedule->streamTile);
  for (const Contraction &contraction : planned.stream()->contractions)
    encode(contraction.resident, 0);
}

// A tensor that is both streamed and resident has the scales of tiles, which its rows share.
red::EncodeOp encodingOf(red::NestOp nest, attn::ReadOp read, unsigned rowAxis) {
  for (red::EncodeOp op : encodingsOf(nest))
    if (op.getTensor() == read.getSource() && op.getAxis() == rowAxis)
      return op;
  return {};
}

SmallVector<Value> encodedTensors(red::NestOp nest) {
  SmallVector<Value> tensors;
  for (red::EncodeOp op : encodingsOf(nest)) {
    if (!llvm::is_contained(tensors, op.getTensor()))
      tensors.push_back(op.getTensor());
    llvm::append_range(tensors, op.getResults());
  }
  return tensors;
}

} // namespace attnc::schedule
