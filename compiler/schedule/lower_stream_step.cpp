#include "compiler/schedule/score_scale.h"
#include "compiler/schedule/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

static constexpr double kLog2E = 1.4426950408889634;

static tile::Combine combineOf(red::FoldKind kind) {
  switch (kind) {
  case red::FoldKind::Mul:
    return tile::Combine::Mul;
  case red::FoldKind::Max:
    return tile::Combine::Max;
  case red::FoldKind::Min:
    return tile::Combine::Min;
  default:
    return tile::Combine::Add;
  }
}

static double identityOf(red::FoldKind kind) {
  switch (kind) {
  case red::FoldKind::Mul:
    return 1;
  case red::FoldKind::Max:
    return -std::numeric_limits<double>::infinity();
  case red::FoldKind::Min:
    return std::numeric_limits<double>::infinity();
  default:
    return 0;
  }
}

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

// A factor that all scores of a reference share joins log2(e) in the exponent, unless another state
// folds the same scores.
void StreamLowering::findScales() {
  for (Reference &r : plan.references) {
    Value array = r.fold.getFactors().front();
    Value param = positiveFactor(nest, array);
    if (llvm::any_of(plan.states, [&](StreamState &s) {
          return s.weight == -1 && s.fold.getFactors().front() == array;
        }))
      param = Value();
    scaleParam.push_back(param);
    Value log2e = real(kLog2E);
    perScore.push_back(
        param
            ? arith::MulFOp::create(b, named("scale_log2"), memory.param(param), log2e).getResult()
            : log2e);
  }
}

void StreamLowering::createStates() {
  findScales();
  for (Reference &r : plan.references) {
    std::string name = attn::specName(r.fold.getLoc()).str();
    double empty = identityOf(red::FoldKind::Max);
    reference.push_back(registers(r.fold.getLoc(), rowsType(), empty));
    top.push_back(registers(attn::renamed(r.fold.getLoc(), name + "_top"), rowsType(), empty));
  }
  for (StreamState &s : plan.states) {
    Type type = rowsType();
    if (s.streamed != -1) {
      int64_t cols = sharedTile(plan.streamed[s.streamed], schedule.streamTile).getWidth();
      type = tile::FragmentType::get(b.getContext(), warpRows, cols);
    }
    state.push_back(registers(s.fold.getLoc(), type, identityOf(s.fold.getKind())));
  }
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

void StreamLowering::step(Value index) {
  column0 = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "0"), index,
                                  constant(schedule.streamTile));
  indexValues.push_back(column0);
  stageTiles.clear();
  for (auto [operand, ring] : llvm::zip(plan.streamed, rings)) {
    std::string name = cIdentifier(tensorOf(attn::ReadOp(operand.read).getSource()).name) + "_tile";
    auto type = cast<tile::RingType>(ring.getType()).getTile();
    stageTiles.push_back(tile::StageOp::create(b, named(name), type, ring, index));
  }
  contractionFragments.clear();
  scoreFragments.clear();
  for (const Contraction &contraction : plan.contractions)
    contractionFragments[red::FoldOp(contraction.fold)] = multiply(contraction);
  for (auto [number, r] : llvm::enumerate(plan.references))
    moveReference(number, scores(r.fold.getFactors().front(), red::FoldKind::Max));
  for (auto [number, s] : llvm::enumerate(plan.states))
    if (s.weight == -1)
      tile::ReduceRowsOp::create(b, s.fold.getLoc(), combineOf(s.fold.getKind()),
                                 scores(s.fold.getFactors().front(), s.fold.getKind()),
                                 state[number]);
  foldWeights();
}

Value StreamLowering::multiply(const Contraction &contraction) {
  red::FoldOp fold = contraction.fold;
  bool hasName = !attn::specName(fold.getLoc()).empty();
  Value fragment =
      registers(hasName ? fold.getLoc() : attn::renamed(fold.getLoc(), "scores"), scoreType(), 0);
  Value whole = resident[OperandTile(contraction.resident).read];
  auto type = cast<tile::SharedType>(whole.getType());
  auto stripType =
      tile::SharedType::get(b.getContext(), warpRows, type.getCols(), type.getElement());
  Value strip = tile::StripOp::create(b, fold.getLoc(), stripType, whole, warpRow);
  tile::MmaOp::create(b, fold.getLoc(), fragment, strip, stageTiles[contraction.streamed],
                      /*transposed=*/true);
  return fragment;
}

// The contractions that `array` is computed from, with their fragments.
SmallVector<StreamLowering::Input> StreamLowering::contractionInputs(Value array) {
  SmallVector<Input> inputs;
  llvm::SetVector<Value> reached;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (auto found = contractionFragments.find(value); found != contractionFragments.end()) {
      inputs.push_back({found->second, value});
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == nest.getBodyBlock())
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return inputs;
}

// How many fragments of the step are computed from a contraction.
unsigned StreamLowering::consumers(Value contraction) {
  llvm::SetVector<std::pair<Value, int>> fragments;
  for (Reference &r : plan.references)
    fragments.insert({r.fold.getFactors().front(), static_cast<int>(red::FoldKind::Max)});
  for (StreamState &s : plan.states)
    if (s.weight == -1)
      fragments.insert({s.fold.getFactors().front(), static_cast<int>(s.fold.getKind())});
  for (const Weight &weight : plan.weights)
    for (Value factor : weight.factors)
      fragments.insert({factor, -1});
  return llvm::count_if(fragments, [&](auto &fragment) {
    return llvm::any_of(contractionInputs(fragment.first),
                        [&](const Input &input) { return input.array == contraction; });
  });
}

// i1: no element of the tile needs a mask, neither the nest's nor the extent's.
Value StreamLowering::isFull() {
  Location loc = nest.getLoc();
  Value end = arith::AddIOp::create(b, loc, column0, constant(schedule.streamTile));
  Value inside =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, extent32(plan.stream));
  if (!nest.getDomainBlock())
    return inside;
  Value lastRow = arith::AddIOp::create(b, loc, row0, constant(schedule.rowTile - 1));
  Value lastColumn = arith::AddIOp::create(b, loc, column0, constant(schedule.streamTile - 1));
  SmallVector<Value> args;
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>())
    args.push_back(uniform.index(dim));
  for (Value bound : {row0, lastRow, column0, lastColumn})
    args.push_back(widen(bound, ""));
  PointEvaluator evaluator = uniform;
  Value full = evaluator.domain(args).full;
  return arith::AndIOp::create(b, loc, inside, full);
}

// The fragment with the elements of a row x stream array. What lies beyond the extent is the
// identity of the fold that reads it. It takes the place of its contraction if nobody else needs
// that.
Value StreamLowering::scores(Value array, red::FoldKind kind) {
  Value &fragment = scoreFragments[{array, static_cast<int>(kind)}];
  if (fragment)
    return fragment;
  Location loc = array.getLoc();
  SmallVector<Input> ins = contractionInputs(array);
  fragment = ins.size() == 1 && consumers(ins.front().array) <= 1 ? ins.front().place
                                                                  : registers(loc, scoreType());
  bool isContraction = ins.size() == 1 && ins.front().array == array;
  bool isWritten = isContraction && fragment == ins.front().place;
  Value into = fragment, identity = real(identityOf(kind));
  bool differs = differsInPartialTiles(array);
  if (!differs && !isWritten)
    writeScores(loc, array, ins, into, {}, /*full=*/false);
  auto branch = scf::IfOp::create(b, loc, isFull(), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  if (differs && !isWritten) {
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    writeScores(loc, array, ins, into, {}, /*full=*/true);
  }
  // Otherwise only what lies beyond the extent changes.
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  if (!differs)
    ins = {{into, array}};
  writeScores(loc, array, ins, into, identity, /*full=*/false);
  return into;
}

// True if the code for a partial tile is not that of a full one and a guard of the result: the
// array is computed through a mask, which full tiles leave out, or from elements of a tensor along
// the stream, which do not exist beyond the extent.
bool StreamLowering::differsInPartialTiles(Value array) {
  Operation *op = array.getDefiningOp();
  if (!op || op->getBlock() != nest.getBodyBlock() || isa<red::FoldOp>(op))
    return false;
  if (isa<attn::ReadOp>(op) && cast<attn::ArrayType>(array.getType()).hasDim(plan.stream))
    return true;
  auto isMask = [](arith::SelectOp select) { return select->hasAttr(red::kFullAttr); };
  if (auto mapOp = dyn_cast<attn::MapOp>(op))
    if (llvm::any_of(mapOp.getBodyBlock()->getOps<arith::SelectOp>(), isMask))
      return true;
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return differsInPartialTiles(operand); });
}

// Writes the elements of `array`; those beyond the extent become `identity`, if there is one.
void StreamLowering::writeScores(Location loc, Value array, ArrayRef<Input> ins, Value into,
                                 Value identity, bool full) {
  Value scale;
  for (auto [r, param] : llvm::zip(plan.references, scaleParam))
    if (r.fold.getFactors().front() == array)
      scale = param;
  map(loc, {plan.stream, column0, /*partial=*/bool(identity), full}, array, ins, into,
      [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
        if (scale)
          evaluator.define(scale, real(1));
        Value element = evaluator.evaluate(array);
        if (!identity)
          return {element};
        auto op = cast<tile::MapOp>(b.getInsertionBlock()->getParentOp());
        Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, op.columnIndex(),
                                             extent32(plan.stream));
        return {arith::SelectOp::create(b, loc, inside, element, identity).getResult()};
      });
}

//===----------------------------------------------------------------------===//
// Exponents
//===----------------------------------------------------------------------===//

// Follows the maximum of the scores: the reference moves when some row of the warp exceeds it by
// more than the slack, and what was summed against it is rescaled. Weights stay below 2^slack.
void StreamLowering::moveReference(unsigned number, Value scoreFragment) {
  Location loc = plan.references[number].fold.getLoc();
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Max, scoreFragment, top[number]);
  auto any = tile::AnyOp::create(b, loc, b.getI1Type(), ValueRange{top[number], reference[number]});
  OpBuilder::InsertionGuard guard(b);
  {
    Block &block = any.getBody().emplaceBlock();
    b.setInsertionPointToStart(&block);
    Value t = block.addArgument(b.getF32Type(), top[number].getLoc());
    Value m = block.addArgument(b.getF32Type(), reference[number].getLoc());
    if (scaleParam[number]) {
      t = arith::MulFOp::create(b, loc, t, perScore[number]);
      m = arith::MulFOp::create(b, loc, m, perScore[number]);
    }
    double slack = scaleParam[number] ? schedule.slack : schedule.slack / kLog2E;
    Value limit = arith::AddFOp::create(b, loc, m, real(slack));
    // The negation holds for NaN, which then reaches the results.
    Value exceeds = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, t, limit);
    tile::YieldOp::create(b, loc, exceeds);
  }
  b.setInsertionPointAfter(any);
  auto branch = scf::IfOp::create(b, loc, any.getResult(), /*withElseRegion=*/false);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  tile::ReduceQuadOp::create(b, loc, tile::Combine::Max, top[number]);
  Value factor = registers(attn::renamed(loc, "rescale"), rowsType());
  rescale(number, factor);
}

// factor = exp(reference - top), reference = top, and the sums against the reference times factor.
void StreamLowering::rescale(unsigned number, Value factor) {
  Location loc = plan.references[number].fold.getLoc();
  SmallVector<Value> sums;
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (s.weight != -1 && plan.weights[s.weight].reference == static_cast<int>(number))
      sums.push_back(place);
  map(factor.getLoc(), {}, {}, {{reference[number], {}}, {top[number], {}}},
      {factor, reference[number]}, [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        Value moved = arith::SubFOp::create(b, loc, x[0], orZero(b, loc, x[1]));
        Value scaled = arith::MulFOp::create(b, loc, moved, perScore[number]);
        return {exp2(b, loc, scaled), x[1]};
      });
  for (Value sum : sums) {
    if (isa<tile::FragmentType>(sum.getType())) {
      tile::ScaleRowsOp::create(b, loc, sum, factor);
      continue;
    }
    map(loc, {}, {}, {{sum, {}}, {factor, {}}}, sum,
        [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
          return {arith::MulFOp::create(b, loc, x[0], x[1]).getResult()};
        });
  }
}

// The fragment of a weight's elements: exp(score - reference) and the factors.
Value StreamLowering::weightFragment(const Weight &weight) {
  bool exponential = weight.reference != -1;
  Location loc = weight.factors.empty() ? plan.references[weight.reference].fold.getLoc()
                                        : weight.factors.front().getLoc();
  SmallVector<Input> ins;
  for (Value factor : weight.factors)
    for (const Input &input : contractionInputs(factor))
      if (llvm::none_of(ins, [&](const Input &known) { return known.place == input.place; }))
        ins.push_back(input);
  Value into;
  unsigned first = ins.size();
  if (exponential) {
    Value array = plan.references[weight.reference].fold.getFactors().front();
    Value score = scores(array, red::FoldKind::Max);
    Value m = reference[weight.reference];
    Value shift = registers(attn::renamed(loc, "shift"), rowsType());
    map(loc, {}, {}, {{m, {}}}, shift, [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
      return {arith::MulFOp::create(b, loc, orZero(b, loc, x[0]), perScore[weight.reference])
                  .getResult()};
    });
    ins.push_back({score, {}});
    ins.push_back({shift, {}});
    unsigned users = llvm::count_if(
        plan.weights, [&](const Weight &w) { return w.reference == weight.reference; });
    bool alsoFolded = llvm::any_of(plan.states, [&](StreamState &s) {
      return s.weight == -1 && s.fold.getFactors().front() == array;
    });
    if (users == 1 && !alsoFolded)
      into = score;
  }
  if (!into)
    into = registers(attn::renamed(loc, "weight"), scoreType());
  map(loc, {plan.stream, column0, /*partial=*/true}, weight.factors, ins, into,
      [&](PointEvaluator &evaluator, ValueRange x) -> SmallVector<Value> {
        Value product;
        if (exponential) {
          Value negated = arith::NegFOp::create(b, loc, x[first + 1]);
          product = exp2(
              b, loc, math::FmaOp::create(b, loc, x[first], perScore[weight.reference], negated));
        }
        for (Value factor : weight.factors) {
          Value element = evaluator.evaluate(factor);
          product = product ? arith::MulFOp::create(b, loc, product, element).getResult() : element;
        }
        if (!product)
          product = real(1);
        if (exponential && weight.factors.empty())
          return {product};
        auto op = cast<tile::MapOp>(b.getInsertionBlock()->getParentOp());
        Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, op.columnIndex(),
                                             extent32(plan.stream));
        return {arith::SelectOp::create(b, loc, inside, product, real(0)).getResult()};
      });
  return into;
}

// Every weight is computed once; its row sums and products follow at once, so that its registers
// are free again for the next one.
void StreamLowering::foldWeights() {
  for (auto [number, weight] : llvm::enumerate(plan.weights)) {
    Value fragment = weightFragment(weight);
    for (auto [s, place] : llvm::zip(plan.states, state)) {
      if (s.weight != static_cast<int>(number))
        continue;
      if (s.streamed == -1) {
        tile::ReduceRowsOp::create(b, s.fold.getLoc(), tile::Combine::Add, fragment, place);
        continue;
      }
      auto type = tile::OperandType::get(b.getContext(), warpRows, schedule.streamTile,
                                         plan.streamed[s.streamed].element);
      Value operand = tile::ToOperandOp::create(b, s.fold.getLoc(), type, fragment);
      tile::MmaOp::create(b, s.fold.getLoc(), place, operand, stageTiles[s.streamed],
                          /*transposed=*/false);
    }
  }
}

} // namespace attnc::schedule
