// Sums of powers of differences from centres that move, as row vectors. Each lane has its own
// share of a row's elements and with it a centre of its own, which needs no exchange of sums in the
// loop; in the end the shares are shifted to the centre of the whole row.
#include "compiler/schedule/nest/reference_degree.h"
#include "compiler/schedule/stream/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

bool StreamLowering::hasMoments() { return !centres.empty(); }

Value StreamLowering::scoresOf(const StreamState &moment) {
  int number = plan.weights[moment.weight].reference;
  if (!red::FoldOp(moment.fold).getBase() || number == -1)
    return {};
  return plan.references[number].fold.getFactors().front();
}

red::FoldOp StreamLowering::momentAbout(Value centre) {
  return llvm::find_if(plan.states, [&](StreamState &s) { return s.fold.getCentre() == centre; })
      ->fold;
}

void StreamLowering::createCentres() {
  centres.clear();
  lowerSums.clear();
  auto rows = [&](Value array, StringRef what) {
    std::string name = (attn::specName(array.getLoc()) + what).str();
    return registers(attn::renamed(array.getLoc(), name), rowsType(), 0);
  };
  for (const StreamState &s : plan.states) {
    red::FoldOp fold = s.fold;
    if (!fold.getBase())
      continue;
    if (!centres.contains(fold.getCentre()))
      centres[fold.getCentre()] = rows(fold.getCentre(), "_running");
    if (Value sum = fold.getLower().front(); !lowerSums.contains(sum))
      lowerSums[sum] = rows(sum, "_before");
  }
}

void StreamLowering::keepLowerSums() {
  for (auto &[sum, place] : lowerSums)
    for (auto [s, current] : llvm::zip(plan.states, state))
      if (s.fold.getResult() == sum)
        map(place.getLoc(), {}, {}, {{current, {}}}, place,
            [](PointEvaluator &, ValueRange x) -> SmallVector<Value> { return {x[0]}; });
}

// A centre that other extrema than its references go into, as exp(m - n), takes all of them over
// the whole row, like the references: a lane's own may be so far from them that a centre is far
// from every element, and the differences from it have no digits left.
void StreamLowering::completeExtrema(ArrayRef<Input> ins) {
  if (llvm::none_of(plan.references,
                    [&](auto &r) { return centresDependOnReference(nest, r.fold); }))
    return;
  for (auto [s, place] : llvm::zip(plan.states, state)) {
    bool isExtremum =
        s.fold.getKind() == red::FoldKind::Max || s.fold.getKind() == red::FoldKind::Min;
    if (isExtremum &&
        llvm::is_contained(llvm::map_range(ins, [](Input x) { return x.place; }), place))
      tile::ReduceQuadOp::create(b, s.fold.getLoc(), combineOf(s.fold.getKind()), place);
  }
}

// The centres move to what the tile makes of them, then come its terms. A centre that is not
// finite, as before the first element, stays where it was.
void StreamLowering::foldMoments(ArrayRef<Value> weightFragments) {
  for (auto &[centre, place] : centres) {
    Value array = centre;
    Location loc = centre.getLoc();
    SmallVector<Input> ins = stateInputs(centre, /*fragments=*/false);
    completeExtrema(ins);
    red::FoldOp moment = momentAbout(centre);
    // Running maxima are without the factor that their scores share.
    SmallVector<Value> factors(ins.size());
    for (auto [i, input] : llvm::enumerate(ins))
      for (auto [r, param] : llvm::zip(plan.references, scaleParam))
        if (param && input.array == r.fold.getResult())
          factors[i] = param;
    SmallVector<Input> places(ins);
    for (auto [input, factor] : llvm::zip(places, factors))
      if (factor)
        input.array = Value();
    places.push_back({place, {}});
    Value shift = registers(attn::renamed(loc, "shift"), rowsType());
    map(loc, {}, array, places, {shift, place},
        [&](PointEvaluator &evaluator, ValueRange x) -> SmallVector<Value> {
          for (auto [i, input] : llvm::enumerate(ins))
            if (factors[i])
              evaluator.define(input.array,
                               arith::MulFOp::create(b, loc, x[i], memory.param(factors[i])));
          Value next = evaluator.evaluate(array);
          Value now = movedCentre(b, moment, x.back(), next);
          return {shiftOf(b, moment, x.back(), now), now};
        });
    shiftMoments(centre, shift);
  }
  for (auto [s, sum] : llvm::zip(plan.states, state))
    if (s.fold.getBase())
      addMoment(s, sum, weightFragments[s.weight]);
}

// The highest first: it needs the lower ones as they were.
void StreamLowering::shiftMoments(Value centre, Value shift) {
  llvm::DenseMap<Value, Value> places;
  for (auto &[sum, place] : lowerSums)
    places[sum] = place;
  SmallVector<unsigned> order;
  for (auto [i, s] : llvm::enumerate(plan.states)) {
    if (s.fold.getBase())
      places[s.fold.getResult()] = state[i];
    if (s.fold.getCentre() == centre)
      order.push_back(i);
  }
  llvm::sort(order, [&](unsigned x, unsigned y) {
    return std::pair(plan.states[y].fold.degree(), x) < std::pair(plan.states[x].fold.degree(), y);
  });
  for (unsigned number : order) {
    red::FoldOp moment = plan.states[number].fold;
    Location loc = moment.getLoc();
    SmallVector<Input> ins = {{state[number], {}}, {shift, {}}};
    for (Value lower : moment.getLower())
      ins.push_back({places.lookup(lower), {}});
    map(loc, {}, {}, ins, state[number], [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
      return {shiftedMoment(b, moment, x[0], x[1], x.drop_front(2))};
    });
  }
}

// `base` is `exponent`, or 0 where that is -inf.
static bool isExponent(Value base, Value exponent) {
  auto guard = base.getDefiningOp<attn::MapOp>();
  if (!guard || base == exponent)
    return base == exponent;
  auto choice = guard.getYielded().getDefiningOp<arith::SelectOp>();
  auto test = choice ? choice.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  auto isOf = [&](Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument && guard.getOperand(argument.getArgNumber()) == exponent;
  };
  return test && test.getPredicate() == arith::CmpFPredicate::OEQ && isOf(test.getLhs()) &&
         matchPattern(test.getRhs(), m_NegInfFloat()) &&
         matchPattern(choice.getTrueValue(), m_AnyZeroFloat()) && isOf(choice.getFalseValue());
}

// True if terms are w log w: the distance of an element from the centre is its weight's exponent.
bool StreamLowering::isOfOwnExponent(const StreamState &moment) {
  red::FoldOp fold = moment.fold;
  return fold.getBase() && fold.getExponent() && fold.degree() == 1 &&
         fold.getCentre() == fold.getReference() && plan.weights[moment.weight].factors.empty() &&
         isExponent(fold.getBase(), fold.getExponent());
}

// Those terms, from exponents of base 2: the sum of a tile's is multiplied. An exponent of -inf,
// whose weight is 0, counts as finite.
void StreamLowering::addOwnExponents(const StreamState &moment, Value sum, Value weights) {
  red::FoldOp fold = moment.fold;
  Location loc = fold.getLoc();
  unsigned number = plan.weights[moment.weight].reference;
  bool shifted = takesShift(number);
  Value from = shifted ? shiftFor(number, loc) : reference[number];
  Value terms = registers(attn::renamed(loc, "terms"), scoreType());
  Value score = scores(plan.references[number].fold.getFactors().front(), red::FoldKind::Max);
  map(loc, {plan.stream, column0, /*partial=*/true}, {}, {{score, {}}, {from, {}}, {weights, {}}},
      terms, [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        Value exponent = exponentOf(number, loc, loc, x[0], x[1], shifted);
        Value least = real(-std::numeric_limits<float>::max());
        Value finite = arith::MaximumFOp::create(b, loc, exponent, least);
        return {arith::MulFOp::create(b, loc, x[2], finite).getResult()};
      });
  Value ofTile = registers(attn::renamed(loc, "of_tile"), rowsType(), 0);
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Add, terms, ofTile);
  map(loc, {}, {}, {{sum, {}}, {ofTile, {}}}, sum,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {math::FmaOp::create(b, loc, x[1], real(llvm::numbers::ln2), x[0]).getResult()};
      });
}

// The tile's terms: the weights are there but for the distance from the centre.
void StreamLowering::addMoment(const StreamState &moment, Value sum, Value weights) {
  if (isOfOwnExponent(moment))
    return addOwnExponents(moment, sum, weights);
  red::FoldOp fold = moment.fold;
  Location loc = fold.getLoc();
  Value array = scoresOf(moment), base = fold.getBase(), factor;
  SmallVector<Input> ins = tileInputs(base, array);
  unsigned known = ins.size();
  if (array) {
    int number = plan.weights[moment.weight].reference;
    factor = scaleParam[number];
    ins.push_back({scores(array, red::FoldKind::Max), factor ? Value() : array});
  }
  ins.append({{weights, {}}, {centres[fold.getCentre()], {}}});
  Value terms = registers(attn::renamed(loc, "terms"), scoreType());
  map(loc, {plan.stream, column0, /*partial=*/true}, base, ins, terms,
      [&](PointEvaluator &evaluator, ValueRange x) -> SmallVector<Value> {
        if (factor)
          evaluator.define(array, arith::MulFOp::create(b, loc, x[known], memory.param(factor)));
        ValueRange last = x.take_back(2);
        Value difference = red::inlineUpdate(b, loc, fold.getDifference(),
                                             {evaluator.evaluate(base), last.back()});
        SmallVector<Value> parts(fold.getFactors().size() + fold.frames().size());
        parts[fold.getExponent() ? fold.getFactors().size() : 0] = last.front();
        parts.back() = difference;
        Value term = liftPart(fold, loc, parts);
        return {untilColumn(loc, extent32(plan.stream), term, real(0))};
      });
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Add, terms, sum);
}

void StreamLowering::settleMoments() {
  keepLowerSums();
  auto reduce = [&](bool moments) {
    for (auto [s, place] : llvm::zip(plan.states, state))
      if (isa<tile::RowsType>(place.getType()) && bool(s.fold.getBase()) == moments)
        tile::ReduceQuadOp::create(b, s.fold.getLoc(), combineOf(s.fold.getKind()), place);
  };
  reduce(/*moments=*/false);
  for (auto &[centre, place] : centres) {
    Value array = centre;
    Location loc = centre.getLoc();
    SmallVector<Input> ins = stateInputs(centre, /*fragments=*/false);
    ins.push_back({place, {}});
    Value shift = registers(attn::renamed(loc, "shift"), rowsType());
    map(loc, {}, array, ins, shift,
        [&](PointEvaluator &evaluator, ValueRange x) -> SmallVector<Value> {
          return {shiftOf(b, momentAbout(array), x.back(), evaluator.evaluate(array))};
        });
    shiftMoments(centre, shift);
  }
  reduce(/*moments=*/true);
}

} // namespace attnc::schedule
