// Folds over inner dims of what the states make: norms, gates, sums of the rows of a result.
#include "compiler/schedule/stream/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// Row by row: the states that each element is computed from, what is known of rows, and the largest
// parts that are computed once for each row.
SmallVector<StreamLowering::Input> StreamLowering::elementInputs(Value array) {
  SmallVector<Input> ins = stateInputs(array, true);
  for (Value part : rowParts(array)) {
    Value rows = registers(part.getLoc(), rowsType());
    map(part.getLoc(), {}, part, stateInputs(part, false), rows,
        [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
          return {evaluator.evaluate(part)};
        });
    ins.push_back({rows, part});
  }
  return ins;
}

// The fragment of a state whose columns are those of the dim.
tile::FragmentType StreamLowering::fragmentAlong(StringAttr inner) {
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (s.streamed != -1 && red::FoldOp(s.fold).getType().hasDim(inner))
      return cast<tile::FragmentType>(place.getType());
  llvm_unreachable("the planner has found one");
}

void StreamLowering::foldEpilogue() {
  for (red::FoldOp fold : plan.epilogue) {
    Location loc = fold.getLoc();
    StringAttr inner = attn::dimNames(fold.getDims()).front();
    tile::FragmentType type = fragmentAlong(inner);
    int64_t cols = attn::programOf(nest).lookupDim(inner).getExtent();
    bool padded = cols != type.getCols();
    SmallVector<Value> factors(fold.getFactors());
    SmallVector<Input> ins;
    for (Value factor : factors)
      for (const Input &input : elementInputs(factor))
        if (llvm::none_of(ins, [&](const Input &known) { return known.array == input.array; }))
          ins.push_back(input);
    Value terms = registers(attn::renamed(loc, "terms"), type);
    double identity = identityOf(fold.getKind());
    map(loc, {inner, constant(0), padded}, factors, ins, terms,
        [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
          Value element = product(evaluator, loc, factors);
          if (!padded)
            return {element};
          return {untilColumn(loc, constant(cols), element, real(identity))};
        });
    Value rows = registers(loc, rowsType(), identity);
    tile::ReduceRowsOp::create(b, loc, combineOf(fold.getKind()), terms, rows);
    tile::ReduceQuadOp::create(b, loc, combineOf(fold.getKind()), rows);
    finished[fold] = rows;
  }
}

} // namespace attnc::schedule
