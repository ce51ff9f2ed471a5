// Elements of several points that one thread has.
#include "compiler/schedule/threads/point_evaluator.h"
#include "compiler/schedule/threads/sliding_values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

std::vector<PointEvaluator> PointEvaluator::neighbours(StringAttr dim, ValueRange points) {
  for (State state : nest.states()) // what all points share
    if (!state.getType().hasDim(dim) && isBound(state.getType()))
      evaluate(state.getResult());
  std::vector<PointEvaluator> all;
  for (Value point : points)
    all.emplace_back(*this).bind(dim, point);
  SmallVector<State> states;
  for (State state : nest.states())
    if (state.getType().hasDim(dim) && all.front().isBound(state.getType()))
      states.push_back(state);
  bool areAlike = llvm::all_of(
      states, [&](State state) { return state.getDims() == states.front().getDims(); });
  if (states.empty() || !areAlike || !centresOf(states).empty())
    return all;
  SmallVector<Value> init;
  for (size_t i = 0; i < points.size(); ++i)
    for (State state : states)
      init.push_back(red::inlineUpdate(builder, state.getLoc(), state.getEmpty(), {}));
  SmallVector<StringAttr> dims = attn::dimNames(states.front().getDims());
  SmallVector<Value> results = loops(dims, states, init, [&](ValueRange running) {
    for (State state : states)
      for (Value operand : state.termOperands())
        hoist(operand, dim);
    SmallVector<Value> next;
    for (auto [i, point] : llvm::enumerate(points)) {
      PointEvaluator each = *this;
      each.bind(dim, point);
      llvm::append_range(next, each.step(states, running.slice(i * states.size(), states.size())));
    }
    return next;
  });
  for (auto [i, each] : llvm::enumerate(all))
    for (auto [state, result] :
         llvm::zip(states, ArrayRef(results).slice(i * states.size(), states.size())))
      each.define(state.getResult(), result);
  return all;
}

// Calls `use` with an evaluator of each place of a run.
void PointEvaluator::alongRun(const Run &run, llvm::function_ref<void(PointEvaluator &)> use) {
  for (Value place : run.places) {
    PointEvaluator each = *this;
    each.scopes.emplace_back().rebound = run.dim;
    each.bind(run.dim, place);
    use(each);
  }
}

// The elements of a sliding array at the window's first index, for all places but the last.
SmallVector<Value> PointEvaluator::beginWindow(Value array, StringAttr window, const Run &run) {
  PointEvaluator begin = *this;
  begin.bind(window,
             arith::ConstantOp::create(builder, array.getLoc(), builder.getI64IntegerAttr(0)));
  SmallVector<Value> elements;
  begin.alongRun(run.allButLast(),
                 [&](PointEvaluator &each) { elements.push_back(each.evaluate(array)); });
  return elements;
}

// `wanted` is no state: its dims have the same indices at all points.
void PointEvaluator::computeFoldsAt(ArrayRef<PointEvaluator *> points, State wanted,
                                    const Run &run) {
  PointEvaluator &first = *points.front();
  SmallVector<StringAttr> dims = attn::dimNames(wanted.getDims());
  SmallVector<Value> sliding;
  if (run.dim && points.size() == run.places.size() && dims.size() == 1)
    sliding = slidingValues(wanted, run.dim, dims.front());
  SmallVector<Value> init;
  for (PointEvaluator *point : points)
    init.append(point->prepare({wanted}));
  for (Value array : sliding)
    init.append(first.beginWindow(array, dims.front(), run));
  SmallVector<State> states = {wanted};
  SmallVector<Value> results = first.loops(dims, states, init, [&](ValueRange running) {
    SmallVector<SmallVector<Value>> windows; // elements of a sliding array, from place to place
    for (auto [i, array] : llvm::enumerate(sliding)) {
      size_t handed = points.size() - 1;
      auto &window = windows.emplace_back(running.slice(points.size() + i * handed, handed));
      first.alongRun(run.last(),
                     [&](PointEvaluator &each) { window.push_back(each.evaluate(array)); });
    }
    SmallVector<Value> next;
    for (auto [i, point] : llvm::enumerate(points)) {
      PointEvaluator each = *point;
      for (StringAttr dim : dims)
        each.bind(dim, first.index(dim));
      for (auto [array, window] : llvm::zip(sliding, windows))
        each.define(array, window[i]);
      llvm::append_range(next, each.step(states, running[i]));
    }
    for (ArrayRef<Value> window : windows)
      llvm::append_range(next, window.drop_front());
    return next;
  });
  if (!sliding.empty()) // else each index moves all windows from register to register
    results.front().getDefiningOp()->setAttr(tile::kUnrollAttr,
                                             first.builder.getI64IntegerAttr(points.size()));
  for (auto [point, result] : llvm::zip(points, results))
    point->define(wanted.getResult(), result);
}

// The folds over inner dims that `array` is made of, none of them within another.
SmallVector<red::FoldOp> PointEvaluator::foldsOf(Value array) {
  llvm::SetVector<Value> reached;
  reached.insert(array);
  SmallVector<State> folds;
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (!op || op->getBlock() != nest.getBodyBlock() || remembered(reached[i]))
      continue;
    if (auto fold = dyn_cast<State>(op)) {
      if (!llvm::is_contained(nest.states(), fold))
        folds.push_back(fold);
    } else if (isa<attn::ReadOp, attn::MapOp>(op))
      for (Value operand : op->getOperands())
        if (!isa<attn::ReadOp>(op) || operand != cast<attn::ReadOp>(op).getSource())
          reached.insert(operand);
  }
  return folds;
}

void PointEvaluator::foldTogether(MutableArrayRef<PointEvaluator> points, Value array,
                                  const Run &run) {
  PointEvaluator &first = points.front();
  for (State fold : first.foldsOf(array)) {
    bool isBound = llvm::any_of(attn::dimNames(fold.getDims()),
                                [&](StringAttr dim) { return first.index(dim); });
    if (isBound || fold.getCentre() || fold.getReference())
      continue;
    // A point for each combination of the indices that the fold depends on.
    SmallVector<PointEvaluator *> different;
    SmallVector<size_t> same;
    for (PointEvaluator &point : points) {
      auto isSame = [&](PointEvaluator *other) {
        return llvm::all_of(fold.getType().getDims(),
                            [&](StringAttr dim) { return other->index(dim) == point.index(dim); });
      };
      auto found = llvm::find_if(different, isSame);
      same.push_back(found - different.begin());
      if (found == different.end())
        different.push_back(&point);
    }
    computeFoldsAt(different, fold, run);
    for (auto [point, number] : llvm::zip(points, same))
      if (different[number] != &point)
        point.define(fold.getResult(), *different[number]->remembered(fold.getResult()));
  }
}

} // namespace attnc::schedule
