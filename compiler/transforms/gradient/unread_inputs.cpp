#include "compiler/transforms/gradient/unread_inputs.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

/// The dims that get their extents from an input alone.
static llvm::DenseSet<StringAttr> boundByInputs(ProgramOp program) {
  llvm::DenseSet<StringAttr> bound;
  for (DimAttr dim : program.getDims().getAsRange<DimAttr>())
    if (!dim.isStatic())
      bound.insert(dim.getName());
  for (auto extent : program.getBodyBlock()->getOps<ExtentOp>())
    if (extent.getValue().getType().isScalar())
      bound.erase(extent.getDimAttr());
  return bound;
}

void eraseUnreadInputs(ProgramOp program, const std::set<std::string> &kept) {
  llvm::DenseSet<StringAttr> unbound = boundByInputs(program);
  auto inputs = llvm::to_vector(program.getBodyBlock()->getOps<InputOp>());
  auto stays = [&](InputOp input) {
    return !input.use_empty() || kept.contains(input.getName().str());
  };
  for (InputOp input : inputs)
    if (stays(input))
      for (StringAttr dim : input.getType().getDims())
        unbound.erase(dim);
  for (InputOp input : inputs)
    if (!stays(input) && llvm::none_of(input.getType().getDims(),
                                       [&](StringAttr dim) { return unbound.contains(dim); }))
      input.erase();
}

} // namespace attnc
