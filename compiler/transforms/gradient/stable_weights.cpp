#include "compiler/transforms/gradient/stable_weights.h"
#include "compiler/transforms/algebra/terms.h"
#include "compiler/transforms/fusion/epilogue_values.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/keep_in_range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

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

static bool isConstant(const ScalarExpr *e, double value) {
  return e->kind == ScalarExpr::Kind::Constant && e->constant == value;
}

/// What `e` is where conditions along the stream do not leave it out, which is by `absent`; these
/// are appended.
static const ScalarExpr *withoutConditions(const ScalarExpr *e, double absent,
                                           SmallVectorImpl<const ScalarExpr *> &conditions) {
  while (e->kind == ScalarExpr::Kind::Select &&
         (isConstant(e->args[1], absent) || isConstant(e->args[2], absent))) {
    if (e->args[0]->stream)
      conditions.push_back(e->args[0]);
    e = e->args[isConstant(e->args[1], absent) ? 2 : 1];
  }
  return e;
}

/// The maximum that the exponentials of a sum are relative to, if the sum leaves elements out that
/// may be that maximum: the others may all vanish beside it. Else null.
static FoldOp widerMaximum(ProgramOp program, ReduceOp sum) {
  Terms terms(program, dimNames(sum.getDims()), [](Value) { return false; });
  SmallVector<const ScalarExpr *> left;
  const ScalarExpr *weight = withoutConditions(terms.openAll(sum.getOperand()), 0, left);
  if (weight->kind != ScalarExpr::Kind::Exp)
    return {};
  for (Value leaf : leavesOf(weight->args[0])) {
    auto maximum = leaf.getDefiningOp<FoldOp>();
    if (!maximum || maximum.getKind() != FoldKind::Max || maximum.getDims() != sum.getDims())
      continue;
    SmallVector<const ScalarExpr *> known;
    withoutConditions(terms.openAll(maximum.getFactors().front()), -INFINITY, known);
    auto isKnown = [&](const ScalarExpr *condition) {
      return llvm::any_of(known, [&](auto *other) { return sameExpression(condition, other); });
    };
    if (!llvm::all_of(left, isKnown))
      return maximum;
  }
  return {};
}

static bool isDivisor(Value array) {
  return llvm::any_of(array.getUses(), [](OpOperand &use) {
    auto map = dyn_cast<MapOp>(use.getOwner());
    return map && llvm::any_of(map.getBodyBlock()->getArgument(use.getOperandNumber()).getUses(),
                               [](OpOperand &scalar) {
                                 return isa<arith::DivFOp>(scalar.getOwner()) &&
                                        scalar.getOperandNumber() == 1;
                               });
  });
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
  for (ReduceOp reduce : llvm::to_vector(program.getBodyBlock()->getOps<ReduceOp>())) {
    FoldOp wider = isDivisor(reduce) ? widerMaximum(program, reduce) : FoldOp();
    if (!wider && !needsMaximum(program, reduce))
      continue;
    for (FoldOp sum : foldsOf(program, [&](ReduceOp other) { return other == reduce; })) {
      Pass &pass = wider ? passes.emplace_back() : passOf(sum, passes);
      if (wider) {
        pass.stream = dimNames(sum.getDims());
        pass.states = {wider};
      }
      keepInRange(program, sum, pass);
    }
  }
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
