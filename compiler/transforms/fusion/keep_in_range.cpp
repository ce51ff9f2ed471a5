#include "compiler/transforms/fusion/keep_in_range.h"
#include "compiler/transforms/fusion/join_sum.h"
#include "compiler/transforms/fusion/pass_states.h"
#include "dialects/Red/Cancellation.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {

bool sumsWeights(ProgramOp program, Value array, ArrayRef<StringAttr> dims) {
  Terms terms(program, dims, [](Value) { return false; });
  return isa<FloatType>(cast<attn::ArrayType>(array.getType()).getElementType()) &&
         terms.hasWeight(terms.of(array));
}

/// A sum relative to a maximum, whose weight is one of its factors.
static FoldOp withWeightAsFactor(ProgramOp program, FoldOp sum) {
  OpBuilder b(sum);
  SmallVector<Value> factors(sum.getFactors()), operands = {sum.getExponent(), sum.getReference()};
  auto type = attn::ArrayType::get(b.getContext(), unionDims(program, operands),
                                   sum.getType().getElementType());
  factors.push_back(MapOp::create(b, sum.getLoc(), type, operands,
                                  [](OpBuilder &inner, Location at, ValueRange x) -> Value {
                                    Value shifted = SubOp::create(inner, at, x[0], x[1]);
                                    return math::ExpOp::create(inner, at, shifted);
                                  }));
  FoldOp whole = FoldOp::create(b, sum.getLoc(), sum.getType(), FoldKind::Add, sum.getDims(),
                                factors, Value(), Value());
  red::withCancellationOf(sum, whole);
  replaceFold(sum, whole);
  return whole;
}

void keepInRange(ProgramOp program, FoldOp fold, Pass &own) {
  size_t known = own.states.size();
  Terms terms(program, own.stream, [&](Value value) { return dependsOn(value, own.states); });
  if (!joinSum(fold, {program, own}, terms))
    return;
  for (FoldOp &state : MutableArrayRef(own.states).drop_front(known))
    if (state.getExponent())
      state = withWeightAsFactor(program, state);
}

} // namespace attnc
