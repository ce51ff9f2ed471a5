#include "compiler/evaluator/inputs/positive_dims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc {

namespace {

/// Adds the dims whose sizes `root` is computed from.
void addSizes(Value root, llvm::DenseSet<StringAttr> &dims) {
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> work = {root};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto size = dyn_cast<attn::SizeOp>(op))
      dims.insert(size.getDimAttr());
    llvm::append_range(work, op->getOperands());
  }
}

/// Adds what the facts relate to the dims, directly or through others.
void addRelated(ArrayRef<llvm::DenseSet<StringAttr>> facts, llvm::DenseSet<StringAttr> &dims) {
  for (size_t before = 0; before != dims.size();) {
    before = dims.size();
    for (const llvm::DenseSet<StringAttr> &fact : facts)
      if (llvm::any_of(fact, [&](StringAttr dim) { return dims.contains(dim); }))
        dims.insert_range(fact);
  }
}

/// Adds the dims whose sizes something is divided by.
void addDivisors(attn::ProgramOp program, llvm::DenseSet<StringAttr> &dims) {
  program.walk([&](Operation *op) {
    if (!isa<arith::FloorDivSIOp, attn::ModOp>(op))
      return;
    auto divisor = dyn_cast<BlockArgument>(op->getOperand(1));
    auto map = dyn_cast<attn::MapOp>(op->getParentOp());
    if (auto size = divisor && map
                        ? map.getOperand(divisor.getArgNumber()).getDefiningOp<attn::SizeOp>()
                        : attn::SizeOp())
      dims.insert(size.getDimAttr());
  });
}

} // namespace

llvm::DenseSet<StringAttr> positiveDims(attn::ProgramOp program) {
  std::vector<llvm::DenseSet<StringAttr>> facts; // the sizes that each of them speaks about
  for (Operation &op : *program.getBodyBlock())
    if (isa<attn::RequireOp, attn::ExtentOp>(op)) {
      addSizes(op.getOperand(0), facts.emplace_back());
      if (auto extent = dyn_cast<attn::ExtentOp>(op))
        facts.back().insert(extent.getDimAttr());
    }
  llvm::DenseSet<StringAttr> positive;
  program.walk([&](attn::ReadOp read) {
    if (read.isPlain() || read.getOtherwise())
      return;
    llvm::DenseSet<StringAttr> dims;
    for (auto [axis, dim] : llvm::enumerate(read.getSource().getType().getDims()))
      if (Value subscript = read.subscriptValue(axis)) {
        dims.insert(dim);
        dims.insert_range(cast<attn::ArrayType>(subscript.getType()).getDims());
        addSizes(subscript, dims);
      }
    addRelated(facts, dims);
    for (StringAttr dim : dims)
      if (!read.getType().hasDim(dim))
        positive.insert(dim);
  });
  addDivisors(program, positive);
  return positive;
}

} // namespace attnc
