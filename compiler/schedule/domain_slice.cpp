#include "compiler/schedule/domain_slice.h"

using namespace mlir;

namespace attnc::schedule {

SmallVector<Operation *> domainSlice(red::NestOp nest, ValueRange wanted) {
  Block *block = nest.getDomainBlock();
  llvm::SmallDenseSet<Operation *> needed;
  SmallVector<Value> work(wanted.begin(), wanted.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == block && needed.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  SmallVector<Operation *> ops;
  for (Operation &op : *block)
    if (needed.contains(&op))
      ops.push_back(&op);
  return ops;
}

bool readsTensors(red::NestOp nest, Value wanted) {
  return llvm::any_of(domainSlice(nest, wanted),
                      [](Operation *op) { return isa<red::ExtremeOp>(op); });
}

Value liveCondition(red::NestOp nest) {
  Block *block = nest.getDomainBlock();
  return block ? cast<red::BoundsOp>(block->getTerminator()).getLive() : Value();
}

} // namespace attnc::schedule
