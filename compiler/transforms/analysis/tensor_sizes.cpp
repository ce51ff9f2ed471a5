#include "compiler/transforms/analysis/tensor_sizes.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

bool TensorSizes::fit(ArrayRef<StringAttr> dims) {
  SmallVector<StringAttr> its = dynamic(dims);
  return llvm::any_of(tensors, [&](ArrayRef<StringAttr> tensor) {
    return llvm::all_of(its, [&](StringAttr dim) { return llvm::is_contained(tensor, dim); });
  });
}

SmallVector<StringAttr> TensorSizes::dynamic(ArrayRef<StringAttr> dims) {
  SmallVector<StringAttr> all;
  for (StringAttr dim : dims)
    if (SmallVector<StringAttr> sizes = sizesOf(dim); !sizes.empty())
      llvm::append_range(all, dynamic(sizes));
    else if (!program.lookupDim(dim).isStatic())
      all.push_back(dim);
  return all;
}

SmallVector<StringAttr> TensorSizes::sizesOf(StringAttr dim) {
  SmallVector<StringAttr> sizes;
  for (auto extent : program.getBodyBlock()->getOps<ExtentOp>()) {
    if (extent.getDimAttr() != dim || !extent.getValue().getType().isScalar())
      continue;
    SetVector<Value> reached;
    reached.insert(extent.getValue());
    for (size_t i = 0; i < reached.size(); ++i) {
      Operation *op = reached[i].getDefiningOp();
      if (auto size = dyn_cast<SizeOp>(op))
        sizes.push_back(size.getDimAttr());
      reached.insert(op->operand_begin(), op->operand_end());
    }
  }
  return sizes;
}

} // namespace attnc
