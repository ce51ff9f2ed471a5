// What a point folds: loops over elements, and what they carry.
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/threads/point_evaluator.h"
#include "compiler/transforms/split.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attnc::schedule {

static Value constantOf(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

bool PointEvaluator::isBound(attn::ArrayType type) const {
  return llvm::all_of(type.getDims(), [&](StringAttr dim) { return indices.contains(dim); });
}

// A state brings along the other states of its pass whose points are known here; another fold runs
// alone.
SmallVector<red::FoldOp> PointEvaluator::foldsTogether(State wanted) {
  SmallVector<State> states = nest.states();
  if (!llvm::is_contained(states, wanted))
    return {wanted};
  SmallVector<State> together, all;
  for (State state : states)
    if (state.getDims() == wanted.getDims() && isBound(state.getType())) {
      all.push_back(state);
      if (!remembered(state.getResult()))
        together.push_back(state);
    }
  // Moments are about what the states make on the way, also those that are known in the end.
  if (!centresOf(together).empty())
    return all;
  // Of parts that are read side by side each is folded by itself: sums are then relative to what
  // the extrema are in the end.
  if (areBeside(attn::dimNames(wanted.getDims())))
    return {wanted};
  return together;
}

SmallVector<Value> PointEvaluator::domainArguments(bool withStream) {
  SmallVector<Value> args;
  for (StringAttr cell : nest.getGrid().getAsRange<StringAttr>())
    args.push_back(indices.lookup(cell));
  for (StringAttr row : nest.getRow().getAsRange<StringAttr>())
    args.append(2, indices.lookup(row));
  if (withStream)
    for (StringAttr stream : nest.getStream().getAsRange<StringAttr>())
      args.append(2, indices.lookup(stream));
  bool known = llvm::all_of(args, [](Value v) { return bool(v); });
  return known ? args : SmallVector<Value>();
}

// The domain bounds a stream dim for the row at hand; elsewhere the extent does.
std::pair<Value, Value> PointEvaluator::loopBounds(StringAttr dim, Location loc) {
  Value zero = constantOf(builder, loc, 0);
  Value extent = memory.extent(builder, loc, dim);
  auto stream = llvm::find(nest.getStream(), dim);
  SmallVector<Value> args = domainArguments(/*withStream=*/false);
  if (!nest.getDomainBlock() || stream == nest.getStream().end() ||
      args.size() + 2 * nest.getStream().size() != nest.getDomainBlock()->getNumArguments())
    return {zero, extent};
  args.append(2 * nest.getStream().size(), zero);
  unsigned at = stream - nest.getStream().begin();
  SmallVector<Value> ends = domain(args, {bounds().getLo()[at], bounds().getHi()[at]});
  Value lo = ends[0], hi = ends[1];
  auto named = [&](StringRef end) { return attn::renamed(loc, (dim.getValue() + end).str()); };
  lo = builder.createOrFold<arith::MaxSIOp>(named("_begin"), lo, zero);
  hi = builder.createOrFold<arith::MinSIOp>(named("_end"), hi, extent);
  return {lo, hi};
}

// The states after one more element; as they are, where the domain says that it does not matter.
SmallVector<Value> PointEvaluator::stepIfLive(State first, ValueRange running, Step step) {
  Value live = liveCondition(nest);
  SmallVector<Value> args = live ? domainArguments(/*withStream=*/true) : SmallVector<Value>();
  if (args.empty() || !llvm::is_contained(nest.states(), first))
    return step(running);
  Location loc = first.getLoc();
  Value matters = domain(args, live).front();
  auto branch = scf::IfOp::create(builder, loc, running.getTypes(), matters, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, running);
  builder.setInsertionPointToStart(branch.thenBlock());
  scopes.emplace_back();
  SmallVector<Value> next = step(running);
  scopes.pop_back();
  scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector(ValueRange(branch.getResults()));
}

// What the states begin with; what their terms have in common is computed.
SmallVector<Value> PointEvaluator::prepare(ArrayRef<State> states) {
  SmallVector<Value> init;
  for (State state : states) {
    for (Value operand : state.termOperands())
      hoist(operand, attn::dimNames(state.getDims()));
    if (Value reference = state.getReference())
      if (!llvm::is_contained(states, reference.getDefiningOp<red::FoldOp>()))
        evaluate(reference);
    init.push_back(red::inlineUpdate(builder, state.getLoc(), state.getEmpty(), {}));
  }
  return init;
}

void PointEvaluator::computeFolds(State wanted) {
  SmallVector<State> states = foldsTogether(wanted);
  SmallVector<StringAttr> dims = attn::dimNames(wanted.getDims());
  SmallVector<Value> init = prepare(states);
  for (Value centre : centresOf(states))
    init.push_back(startOf(builder, centre));
  SmallVector<Value> results =
      loops(dims, states, init, [&](ValueRange running) { return step(states, running); });
  settle(states, results);
  for (auto [state, result] : llvm::zip(states, results))
    scopes.back().elements[state.getResult()] = result;
}

// True where several parts of a stream are read before they are folded.
bool PointEvaluator::areBeside(ArrayRef<StringAttr> dims) const {
  return partsBeside && dims.size() == 1 && isPartDim(attn::programOf(nest), dims.front());
}

static constexpr int64_t kPartsTogether = 16;

SmallVector<Value> PointEvaluator::loops(ArrayRef<StringAttr> dims, ArrayRef<State> states,
                                         ValueRange init, Step step) {
  State wanted = states.front();
  if (dims.empty())
    return stepIfLive(wanted, init, step);
  StringAttr dim = dims.front();
  Location loc = wanted.getLoc();
  auto [lo, hi] = loopBounds(dim, loc);
  auto takeElement = [&](Value index, ValueRange running) {
    return at(dim, index, [&] { return loops(dims.drop_front(), states, running, step); });
  };
  if (!areBeside(dims) || !centresOf(states).empty())
    return loop(loc, dim, lo, hi, 1, init, takeElement).getResults();
  Value together = constantOf(builder, loc, kPartsTogether);
  auto takeParts = [&](Value first, ValueRange running) {
    Value end = arith::AddIOp::create(builder, attn::renamed(loc, "end"), first, together);
    auto parts = loop(loc, dim, first, end, 1, running, takeElement);
    parts->setAttr(tile::kUnrollAttr, builder.getI64IntegerAttr(0));
    return llvm::to_vector(ValueRange(parts.getResults()));
  };
  Value count = builder.createOrFold<arith::SubIOp>(loc, hi, lo);
  Value rest = arith::RemSIOp::create(builder, loc, count, together);
  Value whole = arith::SubIOp::create(builder, attn::renamed(loc, "whole"), hi, rest);
  auto most = loop(loc, builder.getStringAttr("first"), lo, whole, kPartsTogether, init, takeParts);
  return loop(loc, dim, whole, hi, 1, most.getResults(), takeElement).getResults();
}

// A loop from `lo` to `hi`; `step` makes what it carries next.
scf::ForOp PointEvaluator::loop(Location loc, StringAttr index, Value lo, Value hi, int64_t by,
                                ValueRange init,
                                llvm::function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  auto loop = scf::ForOp::create(builder, loc, lo, hi, constantOf(builder, loc, by), init);
  loop.getInductionVar().setLoc(attn::renamed(loc, index.getValue()));
  for (auto [arg, from] : llvm::zip(loop.getRegionIterArgs(), init))
    arg.setLoc(from.getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc, step(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop;
}

// What `use` gives where the dim has this index.
SmallVector<Value> PointEvaluator::at(StringAttr dim, Value index,
                                      llvm::function_ref<SmallVector<Value>()> use) {
  Value outer = indices.lookup(dim);
  indices[dim] = index;
  scopes.emplace_back();
  if (outer)
    scopes.back().rebound = dim;
  SmallVector<Value> values = use();
  scopes.pop_back();
  if (outer)
    indices[dim] = outer;
  else
    indices.erase(dim);
  return values;
}

// The states after one more element, given their running values. Extrema come first: what others
// are relative to moves, and they are rescaled.
SmallVector<Value> PointEvaluator::step(MutableArrayRef<State> states, ValueRange running) {
  SmallVector<Value> next(states.size());
  for (auto [i, state] : llvm::enumerate(states)) {
    if (state.getKind() == red::FoldKind::Add)
      continue;
    std::string name = (attn::specName(state.getLoc()) + "_next").str();
    next[i] = takeIn(state, running[i], {}, attn::renamed(state.getLoc(), name));
  }
  // Several sums are relative to one reference: how far the element is from it, how far it moved.
  DenseMap<Value, std::pair<Value, Value>> shared;
  llvm::SetVector<Value> centres = centresOf(states);
  DenseMap<Value, std::pair<Value, Value>> moved; // centre: where it is now, by how much it moved
  Elements reached, lower;                        // states with and without the new element
  for (auto [i, state] : llvm::enumerate(states))
    if (next[i])
      reached[state.getResult()] = next[i];
  for (auto [i, state] : llvm::enumerate(states)) {
    if (state.getKind() != red::FoldKind::Add)
      continue;
    Value before = running[i];
    SmallVector<Value> by;
    if (Value reference = state.getReference()) {
      auto &[weight, rescale] = shared[reference];
      if (!weight) {
        auto distance = [&](Value x, Value y, StringRef name) {
          Location loc = attn::renamed(reference.getLoc(), name);
          return red::inlineUpdate(builder, loc, state.getWeight(), {x, y});
        };
        auto found = llvm::find(states, reference.getDefiningOp<red::FoldOp>());
        Value exponent = evaluate(state.getExponent());
        if (found == states.end()) {
          weight = distance(exponent, evaluate(reference), "weight");
        } else {
          unsigned at = found - states.begin();
          weight = distance(exponent, next[at], "weight");
          rescale = distance(running[at], next[at], "rescale");
        }
      }
      by.push_back(weight);
      if (rescale)
        before = red::inlineUpdate(builder, state.getLoc(), state.getRescale(), {before, rescale});
    }
    lower[state.getResult()] = before;
    if (Value centre = state.getCentre()) {
      auto &[now, shift] = moved[centre];
      if (!now) {
        Value old = running[states.size() + (llvm::find(centres, centre) - centres.begin())];
        now = movedCentre(builder, state, old, fromStates(centre, reached));
        shift = shiftOf(builder, state, old, now);
      }
      before = shiftedMoment(
          builder, state, before, shift,
          llvm::map_to_vector(state.getLower(), [&](Value sum) { return lower.lookup(sum); }));
      by.push_back(red::inlineUpdate(builder, state.getLoc(), state.getDifference(),
                                     {evaluate(state.getBase()), now}));
    }
    next[i] = reached[state.getResult()] = takeIn(state, before, by, state.getLoc());
  }
  for (Value centre : centres)
    next.push_back(moved[centre].first);
  return next;
}

// A product and the sum that it is added to are one instruction.
Value PointEvaluator::takeIn(State state, Value running, ValueRange by, Location loc) {
  SmallVector<Value> x;
  for (Value factor : state.getFactors())
    x.push_back(evaluate(factor));
  llvm::append_range(x, by);
  Value element = red::inlineUpdate(builder, loc, state.getLift(), x);
  Value merged = red::inlineUpdate(builder, loc, state.getMerge(), {running, element});
  auto sum = merged.getDefiningOp<arith::AddFOp>();
  auto product = element.getDefiningOp<arith::MulFOp>();
  if (!sum || !product || llvm::is_contained(x, element))
    return merged;
  merged = math::FmaOp::create(builder, loc, product.getLhs(), product.getRhs(), running);
  sum.erase();
  product.erase();
  return merged;
}

} // namespace attnc::schedule
