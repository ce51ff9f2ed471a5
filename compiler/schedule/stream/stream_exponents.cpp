#include "compiler/schedule/nest/reference_degree.h"
#include "compiler/schedule/stream/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

// 2^x and max(x, -inf -> 0), as the device functions compute them.
static Value exp2(OpBuilder &b, Location loc, Value x) {
  return math::Exp2Op::create(b, loc, x, arith::FastMathFlags::afn);
}

static Value orZero(OpBuilder &b, Location loc, Value x) {
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value empty =
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, empty);
  return arith::SelectOp::create(b, loc, isEmpty, zero, x);
}

static constexpr double kLargestShift = 0x1p20;

// Weights stay below 2^threshold.
Value StreamLowering::followMaximum(unsigned number, Value factor) {
  red::FoldOp fold = plan.references[number].fold;
  Location loc = fold.getLoc();
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  Value kept = top[number];
  if (!kept) {
    top[number] = registers(attn::renamed(loc, attn::specName(loc).str() + "_top"), rowsType());
    copyRows(loc, reference[number], top[number]);
  }
  reduceMaximum(number, score, top[number]);
  Value moved = anyOfSharing(exceedsReference(number));
  auto branch = scf::IfOp::create(b, loc, moved, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    reduceRows(fold, top[number]);
    Value by = factor ? factor : rescaleFactor(number);
    moveReference(number, by);
    if (!factor)
      rescaleFragments(number, by);
    anchorExponents(number);
  }
  top[number] = kept;
  return moved;
}

void StreamLowering::reduceMaximum(unsigned number, Value score, Value into) {
  Location loc = plan.references[number].fold.getLoc();
  if (!offset[number]) {
    tile::ReduceRowsOp::create(b, loc, tile::Combine::Max, score, into);
    return;
  }
  Value ofTile = registers(attn::renamed(loc, "tile_top"), rowsType(),
                           -std::numeric_limits<double>::infinity());
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Max, score, ofTile);
  map(loc, {}, {}, {{into, {}}, {ofTile, {}}, {offset[number], {}}}, into,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        Value whole = arith::AddFOp::create(b, loc, x[1], x[2]);
        return {arith::MaximumFOp::create(b, loc, x[0], whole).getResult()};
      });
}

Value StreamLowering::anchorInTile(unsigned number) {
  if (!offset[number])
    return anchor[number];
  Location loc = plan.references[number].fold.getLoc();
  Value inTile = registers(attn::renamed(loc, "anchor_in_tile"), rowsType());
  map(loc, {}, {}, {{anchor[number], {}}, {offset[number], {}}}, inTile,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {arith::SubFOp::create(b, loc, x[0], x[1]).getResult()};
      });
  return inTile;
}

Value StreamLowering::rescaleFactor(unsigned number) {
  return registers(attn::renamed(plan.references[number].fold.getLoc(), "rescale"), rowsType());
}

// The negation of the comparison holds for NaN, which then reaches the results.
Value StreamLowering::exceedsReference(unsigned number) {
  Location loc = plan.references[number].fold.getLoc();
  Value known = takesShift(number) ? followed[number] : reference[number];
  auto any = tile::AnyOp::create(b, attn::renamed(loc, "moves"), b.getI1Type(),
                                 ValueRange{top[number], known});
  OpBuilder::InsertionGuard guard(b);
  Block &block = any.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  Value t = block.addArgument(b.getF32Type(), top[number].getLoc());
  Value m = block.addArgument(b.getF32Type(), known.getLoc());
  double unit = llvm::numbers::log2e;
  if (scaleParam[number]) {
    t = arith::MulFOp::create(b, loc, t, perScore[number]);
    m = arith::MulFOp::create(b, loc, m, perScore[number]);
    unit = 1;
  }
  bool isExact = centresDependOnReference(nest, plan.references[number].fold);
  Value limit =
      isExact ? m
              : arith::AddFOp::create(b, loc, m, real(tiles.rescaleThreshold / unit)).getResult();
  Value exceeds = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, t, limit);
  tile::YieldOp::create(b, loc, exceeds);
  return any.getResult();
}

// The states that scores of a reference are needed for besides its weights.
SmallVector<StreamState> StreamLowering::usersOfScores(unsigned number) {
  Value array = plan.references[number].fold.getFactors().front();
  SmallVector<StreamState> users;
  llvm::copy_if(plan.states, std::back_inserter(users), [&](StreamState &s) {
    return s.weight == -1 ? s.fold.getFactors().front() == array : scoresOf(s) == array;
  });
  return users;
}

// True if one weight alone needs the scores of the reference: it takes their place.
bool StreamLowering::ownsScores(unsigned number) {
  auto weights = llvm::count_if(
      plan.weights, [&](const Weight &w) { return w.reference == static_cast<int>(number); });
  return weights == 1 && usersOfScores(number).empty();
}

// True if exponents are taken from a shift, whose rounding all weights of a row share.
bool StreamLowering::takesShift(unsigned number) {
  return llvm::all_of(usersOfScores(number),
                      [&](const StreamState &s) { return isOfOwnExponent(s); }) &&
         !dependsOnRounding(nest, plan.references[number].fold);
}

// i1: exponents would be rounded too much.
Value StreamLowering::isLargeShift(Value from, unsigned number) {
  Location loc = plan.references[number].fold.getLoc();
  Value shift = arith::MulFOp::create(b, loc, from, perScore[number]);
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT,
                               math::AbsFOp::create(b, loc, shift), real(kLargestShift));
}

// i1: some row of the warp has a reference that is large.
Value StreamLowering::hasLargeReference(unsigned number) {
  Location loc = plan.references[number].fold.getLoc();
  auto any = tile::AnyOp::create(b, attn::renamed(loc, "large"), b.getI1Type(),
                                 ValueRange{anchorInTile(number)});
  OpBuilder::InsertionGuard guard(b);
  Block &block = any.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  Value m = block.addArgument(b.getF32Type(), anchor[number].getLoc());
  tile::YieldOp::create(b, loc, isLargeShift(m, number));
  return any.getResult();
}

void StreamLowering::moveReference(unsigned number, Value factor) {
  Location loc = plan.references[number].fold.getLoc();
  map(factor.getLoc(), {}, {}, {{reference[number], {}}, {top[number], {}}},
      {factor, reference[number]}, [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {distance(number, attn::renamed(loc, "down"), loc, x[0], x[1], /*shifted=*/false),
                red::inlineUpdate(b, loc, *frameOfReference(number).follow, x)};
      });
  rescaleRows(number, factor);
}

void StreamLowering::rescaleRows(unsigned number, Value factor) {
  Location loc = plan.references[number].fold.getLoc();
  for (auto [s, sum] : llvm::zip(plan.states, state)) {
    bool against = s.weight != -1 && plan.weights[s.weight].reference == static_cast<int>(number);
    if (against && isa<tile::RowsType>(sum.getType()))
      map(loc, {}, {}, {{sum, {}}, {factor, {}}}, sum,
          [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
            return {red::inlineUpdate(b, loc, red::FoldOp(s.fold).getRescale(), x)};
          });
  }
}

void StreamLowering::rescaleFragments(unsigned number, Value factor) {
  Location loc = plan.references[number].fold.getLoc();
  for (auto [s, sum] : llvm::zip(plan.states, state)) {
    bool against = s.weight != -1 && plan.weights[s.weight].reference == static_cast<int>(number);
    if (against && isa<tile::FragmentType>(sum.getType()))
      tile::ScaleRowsOp::create(b, loc, sum, factor);
  }
}

// The exponents of scores that weights alone need are score * c - anchor * c, one instruction:
// the anchor is the reference, or 0 where there is none yet. Beyond 2^20 the rounding of anchor * c
// would be seen in the exponent (from 2^25 on it is more than 1, and the largest weight anything):
// there the scores of the tile become differences, the anchor 0, and as nothing is followed, the
// next tile comes here as well.
// Where scores lack an offset, so does the anchor that exponents of the tile are taken from.
void StreamLowering::anchorExponents(unsigned number) {
  if (!takesShift(number))
    return;
  red::FoldOp fold = plan.references[number].fold;
  Location loc = fold.getLoc();
  map(loc, {}, {}, {{reference[number], {}}}, {anchor[number], followed[number]},
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {orZero(b, loc, x[0]), x[0]};
      });
  auto branch = scf::IfOp::create(b, loc, hasLargeReference(number), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  map(loc, {plan.stream, column0}, {}, {{score, {}}, {anchorInTile(number), {}}}, score,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {arith::SubFOp::create(b, loc, x[0], x[1]).getResult()};
      });
  SmallVector<Input> ins;
  if (offset[number])
    ins.push_back({offset[number], {}});
  map(loc, {}, {}, ins, {anchor[number], followed[number]},
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {x.empty() ? real(0) : x[0], real(-std::numeric_limits<double>::infinity())};
      });
}

// The same where no tile is at hand: one whose reference is large comes to its differences next.
void StreamLowering::anchorRows(unsigned number) {
  if (!takesShift(number))
    return;
  Location loc = plan.references[number].fold.getLoc();
  map(loc, {}, {}, {{reference[number], {}}}, {anchor[number], followed[number]},
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        Value from = orZero(b, loc, x[0]);
        Value isLarge = isLargeShift(from, number);
        Value none = real(-std::numeric_limits<double>::infinity());
        return {from, arith::SelectOp::create(b, loc, isLarge, none, x[0])};
      });
}

// Computed anew for each tile although the anchor rarely moves: known earlier, the compiler would
// start the exponents before the wait for the products of the states, which costs 4 % (they are
// in the way of the other groups' products).
Value StreamLowering::shiftFor(unsigned number, Location loc) {
  Value shift = registers(attn::renamed(loc, "shift"), rowsType());
  map(loc, {}, {}, {{anchorInTile(number), {}}}, shift,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, x[0], perScore[number]).getResult()};
      });
  return shift;
}

red::FoldOp::Frame StreamLowering::frameOfReference(unsigned number) {
  red::FoldOp fold = plan.references[number].fold;
  return red::frameOf(nest, fold.getFactors().front(), fold);
}

// How far x is from y in base 2, in which a score counts perScore. With `shifted` y is a shift,
// which does.
Value StreamLowering::exponentOf(unsigned number, Location differenceLoc, Location loc, Value x,
                                 Value y, bool shifted) {
  if (shifted)
    return math::FmaOp::create(b, differenceLoc, x, perScore[number],
                               arith::NegFOp::create(b, differenceLoc, y));
  Value difference = arith::SubFOp::create(b, differenceLoc, x, orZero(b, loc, y));
  return arith::MulFOp::create(b, loc, difference, perScore[number]);
}

// How far x is from y in the frame of a reference. The region's difference and exponential are
// written as the device has them, by exponentOf.
Value StreamLowering::distance(unsigned number, Location difference, Location loc, Value x, Value y,
                               bool shifted) {
  auto emit = [&](OpBuilder &, Operation &op, IRMapping &mapping) {
    Value from = mapping.lookup(op.getOperand(0)), result;
    if (isa<attn::SubOp>(op)) {
      Value by = mapping.lookup(op.getOperand(1));
      result = exponentOf(number, difference, loc, from, by, shifted);
    } else if (isa<math::ExpOp>(op)) {
      result = exp2(b, loc, from);
    } else {
      result = b.clone(op, mapping)->getResult(0);
    }
    mapping.map(op.getResult(0), result);
  };
  return red::inlineUpdate(b, loc, *frameOfReference(number).distance, {x, y}, emit);
}

// The state of one element but for what is multiplied elsewhere, by tiles or with other terms:
// those arguments of the lift are null.
Value StreamLowering::liftPart(red::FoldOp fold, Location loc, MutableArrayRef<Value> x) {
  for (Value &argument : x)
    if (!argument)
      argument = real(1);
  return red::inlineUpdate(b, loc, fold.getLift(), x);
}

// The fragment of a weight's elements: exp(score - reference) and the factors.
// What weights are computed from, each place once, behind `ins`.
void StreamLowering::addFactorInputs(ArrayRef<Value> factors, SmallVectorImpl<Input> &ins) {
  for (Value factor : factors)
    for (const Input &input : tileInputs(factor))
      if (llvm::none_of(ins, [&](const Input &known) { return known.place == input.place; }))
        ins.push_back(input);
}

red::FoldOp StreamLowering::sumOf(const Weight &weight) {
  return llvm::find_if(plan.states,
                       [&](const StreamState &s) {
                         return s.weight != -1 &&
                                plan.weights[s.weight].reference == weight.reference &&
                                plan.weights[s.weight].factors == weight.factors;
                       })
      ->fold;
}

// The condition of a factor that is 1 or 0, and whether it is 1 where that holds.
static std::optional<std::pair<Value, bool>> conditionOf(Value factor) {
  auto choice = factor.getDefiningOp<arith::SelectOp>();
  if (!choice)
    return std::nullopt;
  auto chooses = [&](Value one, Value zero) {
    return matchPattern(one, m_OneFloat()) && matchPattern(zero, m_AnyZeroFloat());
  };
  if (chooses(choice.getTrueValue(), choice.getFalseValue()))
    return {{choice.getCondition(), true}};
  if (chooses(choice.getFalseValue(), choice.getTrueValue()))
    return {{choice.getCondition(), false}};
  return std::nullopt;
}

// An exponential times factors. It is finite or NaN: a factor of 1 or 0 chooses between it and 0,
// and beyond the last column it is 0 already, which only other factors could change.
Value StreamLowering::liftExponential(PointEvaluator &evaluator, Location loc, const Weight &weight,
                                      Value exponent) {
  Weight rest = weight;
  SmallVector<std::pair<Value, bool>> conditions;
  llvm::erase_if(rest.factors, [&](Value factor) {
    auto condition = conditionOf(evaluator.evaluate(factor));
    if (condition)
      conditions.push_back(*condition);
    return condition.has_value();
  });
  Value product = liftWeight(evaluator, loc, sumOf(weight), rest.factors, exponent);
  for (auto [condition, side] : conditions)
    product = side ? arith::SelectOp::create(b, loc, condition, product, real(0))
                   : arith::SelectOp::create(b, loc, condition, real(0), product);
  return rest.factors.empty() ? product : untilColumn(loc, extent32(plan.stream), product, real(0));
}

Value StreamLowering::liftWeight(PointEvaluator &evaluator, Location loc, red::FoldOp sum,
                                 ArrayRef<Value> factors, Value exponent) {
  SmallVector<Value> parts(sum.getFactors().size() + sum.frames().size());
  if (exponent)
    parts[sum.getFactors().size()] = exponent;
  for (auto [part, factor] : llvm::zip(parts, sum.getFactors()))
    if (llvm::is_contained(factors, factor))
      part = evaluator.evaluate(factor);
  return liftPart(sum, loc, parts);
}

Value StreamLowering::weightFragment(unsigned number) {
  if (plan.weights[number].reference != -1)
    return exponentialWeight(plan.weights[number]);
  if (plainWeights.empty()) {
    SmallVector<StagedWeight> all;
    for (auto [each, weight] : llvm::enumerate(plan.weights))
      if (weight.reference == -1)
        all.push_back({static_cast<unsigned>(each), std::nullopt, weight.factors});
    writePlainWeights(all);
  }
  return plainWeights[number];
}

// Weights without exponents are computed together, since they share values, and without masks where
// the tile needs none.
void StreamLowering::writePlainWeights(ArrayRef<StagedWeight> weights, ArrayRef<Value> arrays) {
  SmallVector<Value> outs, factors(arrays);
  SmallVector<Input> ins;
  for (Value array : arrays)
    outs.push_back(registers(array.getLoc(), scoreType()));
  for (const StagedWeight &weight : weights) {
    Location loc = attn::renamed(plan.weights[weight.number].factors.front().getLoc(), "weight");
    outs.push_back(plainWeights[weight.number] = registers(loc, scoreType()));
    addFactorInputs(weight.others, ins);
    llvm::append_range(factors, weight.others);
  }
  DenseMap<unsigned, size_t> known; // places of earlier weights among the inputs
  for (const StagedWeight &weight : weights)
    if (weight.from && known.try_emplace(*weight.from, ins.size()).second)
      ins.push_back({plainWeights[*weight.from], {}});
  Location loc = plan.weights[weights.front().number].factors.front().getLoc();
  bool sumsAtOnce = !hasMoments();
  auto write = [&](bool full) {
    map(loc, {plan.stream, column0, /*partial=*/!full, full}, factors, ins, outs,
        [&](PointEvaluator &evaluator, ValueRange x) {
          SmallVector<Value> elements;
          for (Value array : arrays)
            elements.push_back(evaluator.evaluate(array));
          for (const StagedWeight &weight : weights) {
            red::FoldOp sum = sumOf(plan.weights[weight.number]);
            Value element = liftWeight(evaluator, loc, sum, weight.others, {});
            if (weight.from)
              element = arith::MulFOp::create(b, loc, x[known.lookup(*weight.from)], element);
            elements.push_back(full ? element : insideExtents(loc, weight.number, element));
          }
          return elements;
        });
    if (sumsAtOnce)
      for (const StagedWeight &weight : weights)
        addRows(weight.number, plainWeights[weight.number]);
  };
  auto branch = scf::IfOp::create(b, loc, isFull(), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  write(/*full=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  write(/*full=*/false);
  for (auto [array, place] : llvm::zip(arrays, outs))
    inputTiles[array] = place;
}

Value StreamLowering::exponentialWeight(const Weight &weight) {
  red::FoldOp fold = plan.references[weight.reference].fold;
  Location loc = weight.factors.empty() ? fold.getLoc() : weight.factors.front().getLoc();
  SmallVector<Input> ins;
  addFactorInputs(weight.factors, ins);
  unsigned first = ins.size();
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  bool shifted = takesShift(weight.reference);
  ins.push_back({score, {}});
  ins.push_back({shifted ? shiftFor(weight.reference, loc) : reference[weight.reference], {}});
  Value into =
      ownsScores(weight.reference) ? score : registers(attn::renamed(loc, "weight"), scoreType());
  map(loc, {plan.stream, column0, /*partial=*/true}, weight.factors, ins, into,
      [&](PointEvaluator &evaluator, ValueRange x) -> SmallVector<Value> {
        Location at = x[first].getLoc();
        Value exponent = distance(weight.reference, at, at, x[first], x[first + 1], shifted);
        exponent.setLoc(loc);
        return {liftExponential(evaluator, loc, weight, exponent)};
      });
  return into;
}

// The row sums of a weight.
// Sums of rows by whoever makes the weights, in both branches: a product that is added is then one
// instruction.
void StreamLowering::sumRows(unsigned weight, Value fragment) {
  if (plan.weights[weight].reference != -1 || hasMoments())
    addRows(weight, fragment);
}

void StreamLowering::addRows(unsigned weight, Value fragment) {
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (s.weight == static_cast<int>(weight) && s.streamed == -1 && !s.fold.getBase())
      tile::ReduceRowsOp::create(b, s.fold.getLoc(), tile::Combine::Add, fragment, place);
}

} // namespace attnc::schedule
