#include "compiler/evaluator/float64/reduced_dims.h"
#include "dialects/Red/Red.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

ArrayAttr reducedBy(Operation *op) {
  return llvm::TypeSwitch<Operation *, ArrayAttr>(op)
      .Case<attn::ReduceOp, attn::SoftmaxOp, red::FoldOp>([](auto op) { return op.getDims(); })
      .Default([](Operation *) { return ArrayAttr(); });
}

/// What `array` is computed from.
SmallVector<Value> sourcesOf(Value array) {
  Operation *op = array.getDefiningOp();
  if (auto nest = dyn_cast<red::NestOp>(op)) {
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    return {yield.getValues()[cast<OpResult>(array).getResultNumber()]};
  }
  return llvm::to_vector(op->getOperands());
}

} // namespace

const DimSet &ReducedDims::of(Value array) {
  // Programs are deep where iterations have been unrolled: no recursion.
  SmallVector<Value> open{array};
  while (!open.empty()) {
    Value value = open.back();
    SmallVector<Value> sources = known.contains(value) ? SmallVector<Value>() : sourcesOf(value);
    size_t before = open.size();
    llvm::copy_if(sources, std::back_inserter(open),
                  [&](Value source) { return !known.contains(source); });
    if (open.size() > before)
      continue;
    open.pop_back();
    if (known.contains(value))
      continue;
    auto dims = std::make_unique<DimSet>();
    for (Value source : sources)
      dims->insert_range(*known.at(source));
    if (ArrayAttr reduced = reducedBy(value.getDefiningOp()))
      dims->insert_range(attn::dimNames(reduced));
    known[value] = std::move(dims);
  }
  return *known.at(array);
}

} // namespace attnc::evaluator
