// Sums of powers of differences from a centre that moves while the stream goes by.
#include "compiler/schedule/point_evaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

llvm::SetVector<Value> PointEvaluator::centresOf(ArrayRef<State> states) {
  llvm::SetVector<Value> centres;
  for (State state : states)
    if (state.getCentre())
      centres.insert(state.getCentre());
  return centres;
}

// The element of an array of the finish, were the states' `elements` all there is.
Value PointEvaluator::fromStates(Value array, Elements &elements) {
  if (Value known = elements.lookup(array))
    return known;
  auto map = array.getDefiningOp<attn::MapOp>();
  if (!map || !nest.dependsOnState(array))
    return elements[array] = evaluate(array);
  SmallVector<Value> operands;
  for (Value operand : map.getOperands())
    operands.push_back(fromStates(operand, elements));
  return elements[array] = cloneScalars(builder, map, operands, full);
}

// What the states make of the centre; where it was while that is not finite.
Value PointEvaluator::movedCentre(Value centre, Value old, Elements &elements) {
  Location loc = centre.getLoc();
  Value next = fromStates(centre, elements);
  Value none = arith::SubFOp::create(builder, loc, next, next);
  Value zero = foldIdentity(builder, loc, red::FoldKind::Add, next.getType());
  Value finite = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, none, zero);
  return arith::SelectOp::create(builder, loc, finite, next, old);
}

// c_k + sum over i < k of binomial(k, i) * shift^(k - i) * c_i.
Value shiftedMoment(OpBuilder &builder, red::FoldOp moment, Value value, Value shift,
                    ValueRange lower) {
  Location loc = moment.getLoc();
  Value power;
  double binomial = 1;
  for (unsigned i = moment.degree(); i-- > 0;) {
    binomial *= double(i + 1) / (moment.degree() - i);
    power = power ? Value(arith::MulFOp::create(builder, loc, power, shift)) : shift;
    Value part = arith::MulFOp::create(builder, loc, power, lower[i]);
    if (binomial != 1) {
      Value times =
          arith::ConstantOp::create(builder, loc, builder.getFloatAttr(value.getType(), binomial));
      part = arith::MulFOp::create(builder, loc, part, times);
    }
    value = arith::AddFOp::create(builder, loc, value, part);
  }
  return value;
}

static SmallVector<Value> below(red::FoldOp moment, llvm::DenseMap<Value, Value> &lower) {
  return llvm::map_to_vector(moment.getLower(), [&](Value sum) { return lower.lookup(sum); });
}

// After the stream moments are about the centre that all of it makes.
void PointEvaluator::settle(MutableArrayRef<State> states, MutableArrayRef<Value> results) {
  llvm::SetVector<Value> centres = centresOf(states);
  if (centres.empty())
    return;
  Elements elements, lower;
  for (auto [state, result] : llvm::zip(states, results)) {
    lower[state.getResult()] = result;
    if (!state.getCentre())
      elements[state.getResult()] = result;
  }
  SmallVector<Value> shifts;
  for (auto [at, centre] : llvm::enumerate(centres))
    shifts.push_back(arith::SubFOp::create(builder, centre.getLoc(), results[states.size() + at],
                                           fromStates(centre, elements)));
  for (auto [at, state] : llvm::enumerate(states))
    if (Value centre = state.getCentre())
      results[at] =
          shiftedMoment(builder, state, results[at],
                        shifts[llvm::find(centres, centre) - centres.begin()], below(state, lower));
}

} // namespace attnc::schedule
