#include "compiler/transforms/fusion/epilogue_values.h"
#include "compiler/transforms/algebra/scaled_terms.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/compared_elements.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldOp;

namespace attnc {

static bool isState(Value value, ArrayRef<FoldOp> states) {
  auto fold = value.getDefiningOp<FoldOp>();
  return fold && llvm::is_contained(states, fold);
}

/// True of an array of exponentials: one that is multiplied by another is combined with it.
static bool isExponential(Value value) {
  auto map = value.getDefiningOp<MapOp>();
  return map && isa_and_nonnull<math::ExpOp, math::Exp2Op>(map.getYielded().getDefiningOp());
}

void combineInEpilogue(ProgramOp program, Partition &passes,
                       llvm::function_ref<bool(MapOp)> isLeft) {
  SmallVector<FoldOp> states;
  for (const Pass &pass : passes)
    llvm::append_range(states, pass.states);
  llvm::SmallDenseSet<Value> dependent;
  for (Operation &op : *program.getBodyBlock())
    for (Value operand : op.getOperands())
      if (op.getNumResults() == 1 && (dependent.contains(operand) || isState(operand, states)))
        dependent.insert(op.getResult(0));
  Terms terms(program, {}, [&](Value value) {
    return dependent.contains(value) || isState(value, states) || isExponential(value);
  });
  for (MapOp map : llvm::to_vector(program.getBodyBlock()->getOps<MapOp>())) {
    if (!dependent.contains(map) || !isa<FloatType>(map.getType().getElementType()) || isLeft(map))
      continue;
    bool isCompared = isComparedElement(map);
    const ScalarExpr *e = isCompared ? terms.ofMap(map) : terms.of(map);
    const ScalarExpr *combined = combineExponents(terms, e);
    if (combined == e)
      continue;
    auto last = llvm::find_if(llvm::reverse(passes),
                              [&](Pass &pass) { return dependsOn(map, pass.states); });
    if (last != passes.rend())
      last->derivation.push_back(derivation::stepAt(derivation::Rule::CombinedExponents,
                                                    map.getLoc(), specTextOf(map),
                                                    {{"value", definitionOf(combined)}}));
    OpBuilder b(map);
    Value value = terms.build(b, map.getLoc(), combined);
    if (value.getType() == map.getType())
      map.getResult().replaceAllUsesWith(value);
    dependent.insert(value);
    if (isCompared)
      setComparedElement(value);
  }
}

void eraseUnusedStates(ProgramOp program, Partition &passes) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*program.getBodyBlock()))) {
    if (!op.use_empty() || !isOpTriviallyDead(&op))
      continue;
    for (Pass &pass : passes)
      llvm::erase_if(pass.states, [&](FoldOp state) { return state == &op; });
    op.erase();
  }
  llvm::erase_if(passes, [](const Pass &pass) { return pass.states.empty(); });
}

} // namespace attnc
