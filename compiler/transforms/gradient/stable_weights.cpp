#include "compiler/transforms/gradient/stable_weights.h"
#include "compiler/transforms/fusion/epilogue_values.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/keep_in_range.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {

static SmallVector<FoldOp> foldsOf(ProgramOp program, function_ref<bool(ReduceOp)> isFolded) {
  llvm::SmallDenseSet<Operation *> before;
  for (FoldOp fold : program.getBodyBlock()->getOps<FoldOp>())
    before.insert(fold);
  for (ReduceOp reduce : llvm::to_vector(program.getBodyBlock()->getOps<ReduceOp>()))
    if (isFolded(reduce)) {
      reduce.getResult().replaceAllUsesWith(asFold(reduce));
      reduce.erase();
    }
  return llvm::to_vector(
      llvm::make_filter_range(program.getBodyBlock()->getOps<FoldOp>(),
                              [&](FoldOp fold) { return !before.contains(fold); }));
}

/// The pass of sums over the same dims whose maxima the fold may share.
static Pass &passOf(FoldOp fold, Partition &passes) {
  SmallVector<StringAttr> dims = dimNames(fold.getDims());
  for (Pass &pass : passes)
    if (pass.stream == dims && !dependsOn(fold, pass.states))
      return pass;
  passes.emplace_back().stream = dims;
  return passes.back();
}

/// True if an extremum or a logsumexp is in what `array` is computed from, element by element: then
/// it is in range as it is written, or has been made so.
static bool isRelative(Value array) {
  llvm::SetVector<Value> reached;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    auto fold = dyn_cast<FoldOp>(op);
    auto reduce = dyn_cast<ReduceOp>(op);
    if ((fold && fold.getKind() != FoldKind::Add) ||
        (reduce && reduce.getKind() == ReduceKind::LogSumExp))
      return true;
    if (isa<MapOp>(op))
      reached.insert_range(op->getOperands());
  }
  return false;
}

static bool needsMaximum(ProgramOp program, ReduceOp reduce) {
  return reduce.getKind() == ReduceKind::Add && !isRelative(reduce.getOperand()) &&
         sumsWeights(program, reduce.getOperand(), dimNames(reduce.getDims()));
}

/// True if the map has an exponential of what is relative to nothing.
static bool hasFreeExponential(MapOp map) {
  auto isFree = [&](Value exponent) {
    auto argument = dyn_cast<BlockArgument>(exponent);
    return argument && !isRelative(map.getOperand(argument.getArgNumber()));
  };
  return llvm::any_of(*map.getBodyBlock(), [&](Operation &op) {
    return isa<math::ExpOp, math::Exp2Op>(op) && isFree(op.getOperand(0));
  });
}

SmallVector<Value> stabiliseWeights(ProgramOp program) {
  Partition written(1), passes;
  written.front().states = foldsOf(program, [](ReduceOp reduce) {
    return reduce.getKind() == ReduceKind::Max || reduce.getKind() == ReduceKind::Min;
  });
  // exp(x) / exp(max(x))
  combineInEpilogue(program, written, [](MapOp map) { return !hasFreeExponential(map); });
  for (ReduceOp reduce : llvm::to_vector(program.getBodyBlock()->getOps<ReduceOp>()))
    if (needsMaximum(program, reduce))
      for (FoldOp sum : foldsOf(program, [&](ReduceOp other) { return other == reduce; }))
        keepInRange(program, sum, passOf(sum, passes));
  combineInEpilogue(program, passes);
  SmallVector<Value> maxima;
  for (FoldOp fold : llvm::to_vector(program.getBodyBlock()->getOps<FoldOp>())) {
    bool isReference =
        fold.getKind() == FoldKind::Max && !llvm::is_contained(written.front().states, fold);
    Value reduce = replaceByReduce(fold);
    if (isReference)
      maxima.push_back(reduce);
  }
  return maxima;
}

} // namespace attnc
