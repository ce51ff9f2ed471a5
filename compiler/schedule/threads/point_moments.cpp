// Sums of powers of differences from a centre that moves while the stream goes by.
#include "compiler/schedule/threads/point_evaluator.h"
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

// The element of an array of the epilogue, were the states' `elements` all there is.
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

Value startOf(OpBuilder &builder, Value centre) {
  Type type = cast<attn::ArrayType>(centre.getType()).getElementType();
  return arith::ConstantOp::create(builder, centre.getLoc(), builder.getFloatAttr(type, 0));
}

Value movedCentre(OpBuilder &builder, red::FoldOp moment, Value old, Value next) {
  Location loc = moment.getCentre().getLoc();
  return red::inlineUpdate(builder, loc, moment.getFollowCentre(), {old, next});
}

Value shiftOf(OpBuilder &builder, red::FoldOp moment, Value old, Value now) {
  Location loc = moment.getCentre().getLoc();
  return red::inlineUpdate(builder, loc, moment.getDifference(), {old, now});
}

Value shiftedMoment(OpBuilder &builder, red::FoldOp moment, Value value, Value shift,
                    ValueRange lower) {
  SmallVector<Value> x = {value};
  llvm::append_range(x, lower);
  x.push_back(shift);
  return red::inlineUpdate(builder, moment.getLoc(), moment.getShift(), x);
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
  auto momentAbout = [&](Value centre) {
    return *llvm::find_if(states, [&](State state) { return state.getCentre() == centre; });
  };
  for (auto [at, centre] : llvm::enumerate(centres))
    shifts.push_back(shiftOf(builder, momentAbout(centre), results[states.size() + at],
                             fromStates(centre, elements)));
  for (auto [at, state] : llvm::enumerate(states))
    if (Value centre = state.getCentre())
      results[at] =
          shiftedMoment(builder, state, results[at],
                        shifts[llvm::find(centres, centre) - centres.begin()], below(state, lower));
}

} // namespace attnc::schedule
