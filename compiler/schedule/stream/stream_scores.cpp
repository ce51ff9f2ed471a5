#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/nest/reference_degree.h"
#include "compiler/schedule/nest/score_scale.h"
#include "compiler/schedule/stream/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

tile::Combine combineOf(red::FoldKind kind) {
  switch (kind) {
  case red::FoldKind::Mul:
    return tile::Combine::Mul;
  case red::FoldKind::Max:
    return tile::Combine::Max;
  case red::FoldKind::Min:
    return tile::Combine::Min;
  case red::FoldKind::And: // of conditions, which count as 0 and 1
    return tile::Combine::Mul;
  case red::FoldKind::Or:
    return tile::Combine::Max;
  case red::FoldKind::Add:
    return tile::Combine::Add;
  }
  llvm_unreachable("every kind is above");
}

double identityOf(red::FoldKind kind) {
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

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

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
    Value log2e = real(llvm::numbers::log2e);
    perScore.push_back(
        param
            ? arith::MulFOp::create(b, named("scale_log2"), memory.param(param), log2e).getResult()
            : log2e);
  }
}

void StreamLowering::createStates(bool keepTops) {
  findScales();
  for (auto [number, r] : llvm::enumerate(plan.references)) {
    std::string name = attn::specName(r.fold.getLoc()).str();
    double empty = identityOf(red::FoldKind::Max);
    reference.push_back(registers(r.fold.getLoc(), rowsType(), empty));
    bool keepTop = keepTops || dependsOnReference(nest, r.fold);
    top.push_back(keepTop
                      ? registers(attn::renamed(r.fold.getLoc(), name + "_top"), rowsType(), empty)
                      : Value());
    bool shifts = takesShift(number);
    Location loc = r.fold.getLoc();
    auto rows = [&](StringRef what, double start) {
      return shifts ? registers(attn::renamed(loc, name + "_" + what.str()), rowsType(), start)
                    : Value();
    };
    anchor.push_back(rows("anchor", 0));
    followed.push_back(rows("followed", empty));
    offset.push_back({});
  }
  for (StreamState &s : plan.states) {
    Type type = rowsType();
    if (s.streamed != -1) {
      const OperandTile &operand = plan.streamed[s.streamed];
      int64_t cols = tiles.padded ? tile::elementType(operand.element).paddedWidth(operand.cols)
                                  : operand.cols;
      type = tile::FragmentType::get(b.getContext(), tiles.warpRows, cols);
    }
    state.push_back(registers(s.fold.getLoc(), type, identityOf(s.fold.getKind())));
  }
  createCentres();
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

void StreamLowering::beginTile(Value index, Value isKnownFull) {
  column0 = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "0"), index,
                                  constant(tiles.columns));
  if (tiles.sharingWarps > 1) {
    Value first = arith::MulIOp::create(b, nest.getLoc(), warpColumn, constant(scoreColumns()));
    column0 = arith::AddIOp::create(b, column0.getLoc(), column0, first);
  }
  indexValues.push_back(column0);
  // What reads memory is asked once.
  tileIsFull = isKnownFull;
  if (!tileIsFull && nest.getDomainBlock() && readsTensors(nest, uniform.bounds().getFull()))
    tileIsFull = isFull();
  contractionFragments.clear();
  scoreFragments.clear();
  plainWeights.clear();
}

// Registers for a product, every element `value` if there is one.
Value StreamLowering::contractionPlace(red::FoldOp fold, std::optional<double> value) {
  bool hasName = !attn::specName(fold.getLoc()).empty();
  return registers(hasName ? fold.getLoc() : attn::renamed(fold.getLoc(), "scores"), scoreType(),
                   value);
}

// The states that fold scores as they are.
void StreamLowering::foldScores() {
  for (auto [number, s] : llvm::enumerate(plan.states))
    if (s.weight == -1)
      tile::ReduceRowsOp::create(b, s.fold.getLoc(), combineOf(s.fold.getKind()),
                                 scores(s.fold.getFactors().front(), s.fold.getKind()),
                                 state[number]);
}

// The contractions that `array` is computed from, with their fragments, and the tensors that arrive
// as tiles.
SmallVector<StreamLowering::Input> StreamLowering::tileInputs(Value array, Value known) {
  SmallVector<Input> inputs;
  llvm::SetVector<Value> reached;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (known && value == known)
      continue;
    if (auto found = contractionFragments.find(value); found != contractionFragments.end()) {
      inputs.push_back({found->second, value});
      continue;
    }
    if (auto found = inputTiles.find(value); found != inputTiles.end()) {
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
  auto reads = [&](ArrayRef<Input> inputs) {
    return llvm::any_of(inputs, [&](const Input &input) { return input.array == contraction; });
  };
  unsigned count =
      llvm::count_if(fragments, [&](auto &fragment) { return reads(tileInputs(fragment.first)); });
  return count + llvm::count_if(plan.states, [&](StreamState &s) {
           return s.fold.getBase() && reads(tileInputs(s.fold.getBase(), scoresOf(s)));
         });
}

// i1: no element of the tile needs a mask, neither the nest's nor the extents'.
Value StreamLowering::isFull() {
  if (tileIsFull)
    return tileIsFull;
  Location loc = nest.getLoc();
  Value end = arith::AddIOp::create(b, loc, column0, constant(scoreColumns()));
  Value inside =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, extent32(plan.stream));
  if (!plan.rowSums.empty()) {
    Value rows = arith::AddIOp::create(b, loc, branchRow0, constant(branchRows));
    Value areInside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, rows, extent32(plan.row));
    inside = arith::AndIOp::create(b, loc, inside, areInside);
  }
  if (!nest.getDomainBlock())
    return inside;
  Value lastRow = arith::AddIOp::create(b, loc, branchRow0, constant(branchRows - 1));
  Value lastColumn = arith::AddIOp::create(b, loc, column0, constant(scoreColumns() - 1));
  SmallVector<Value> args;
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>())
    args.push_back(uniform.index(dim));
  for (Value bound : {branchRow0, lastRow, column0, lastColumn})
    args.push_back(widen(bound, ""));
  PointEvaluator evaluator = uniform;
  Value full = evaluator.domain(args, evaluator.bounds().getFull()).front();
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
  SmallVector<Input> ins = tileInputs(array), products;
  llvm::copy_if(ins, std::back_inserter(products),
                [](const Input &input) { return isa<tile::FragmentType>(input.place.getType()); });
  fragment = products.size() == 1 && consumers(products.front().array) <= 1
                 ? products.front().place
                 : registers(loc, scoreType());
  bool isWritten =
      products.size() == 1 && products.front().array == array && fragment == products.front().place;
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
  auto isMask = [](arith::SelectOp select) { return select->hasAttr(red::kFullAttr); };
  llvm::SetVector<Value> reached;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != nest.getBodyBlock() || contractionFragments.contains(value) ||
        inputTiles.contains(value) || isStaged(value))
      continue;
    if (isa<attn::ReadOp>(op) && cast<attn::ArrayType>(value.getType()).hasDim(plan.stream))
      return true;
    if (auto mapOp = dyn_cast<attn::MapOp>(op))
      if (llvm::any_of(mapOp.getBodyBlock()->getOps<arith::SelectOp>(), isMask))
        return true;
    reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

// Writes the elements of `array`; those beyond the extent become `identity`, if there is one.
void StreamLowering::writeScores(Location loc, Value array, ArrayRef<Input> ins, Value into,
                                 Value identity, bool full) {
  Value scale;
  for (auto [r, param] : llvm::zip(plan.references, scaleParam))
    if (r.fold.getFactors().front() == array)
      scale = param;
  // A fragment that holds the array already is without the factor.
  if (llvm::any_of(ins, [&](const Input &input) { return input.array == array; }))
    scale = Value();
  map(loc, {plan.stream, column0, /*partial=*/bool(identity), full}, array, ins, into,
      [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
        Value element = evaluator.evaluate(array);
        if (scale)
          element = withoutFactor(b, element, memory.param(scale));
        if (!identity)
          return {element};
        return {untilColumn(loc, extent32(plan.stream), element, identity)};
      });
}

// The tile's elements of the arrays. Those beyond the extents are whatever comes of the last ones.
SmallVector<Value> StreamLowering::pairFragments(ArrayRef<Value> arrays, ArrayRef<Value> into) {
  Location loc = arrays.front().getLoc();
  SmallVector<Input> ins;
  auto places = llvm::to_vector(into.take_front(arrays.size()));
  for (auto [number, array] : llvm::enumerate(arrays)) {
    for (const Input &input : tileInputs(array))
      if (llvm::none_of(ins, [&](const Input &known) { return known.array == input.array; }))
        ins.push_back(input);
    if (number >= into.size())
      places.push_back(registers(array.getLoc(), scoreType()));
  }
  auto write = [&](bool partial) {
    map(loc, {plan.stream, column0, partial}, arrays, ins, places,
        [&](PointEvaluator &evaluator, ValueRange) {
          return llvm::map_to_vector(arrays, [&](Value each) { return evaluator.evaluate(each); });
        });
  };
  if (!readsAlong(arrays, plan.stream, ins)) {
    write(/*partial=*/false);
    return places;
  }
  auto branch = scf::IfOp::create(b, loc, isFull(), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (bool partial : {false, true}) {
    b.setInsertionPointToStart(&branch->getRegion(partial).front());
    write(partial);
  }
  return places;
}

} // namespace attnc::schedule
