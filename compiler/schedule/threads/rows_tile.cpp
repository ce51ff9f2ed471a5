// One tile of the stream in the rows form.
#include "compiler/schedule/stream/stream_lowering.h"
#include "compiler/schedule/threads/rows_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

static constexpr int64_t kWarp = 32;
// So many loads of a thread are under way at a time.
static constexpr int64_t kUnrolledColumns = 4;

void RowsLowering::foldTile(Value first, Value end) {
  column0 = first;
  Value left = binary("", '-', end, first);
  Value whole = wide(schedule.streamTile);
  Value count =
      arith::TruncIOp::create(b, named("count"), b.getI32Type(), binary("", '<', left, whole));
  auto all = [&] {
    if (!scalars.empty() || !weights.empty())
      computeScalars(count);
    foldExtrema(count);
    if (!rescale.empty())
      computeWeights(count);
    foldPlain(count);
    for (unsigned number = 0; number < plan.groups.size(); ++number)
      foldGroup(number, count);
    barrier();
  };
  if (Value live = isLive(first, count))
    when(live, all);
  else
    all();
}

// Scalars of a row and column, and the weights whose references do not move.
void RowsLowering::storeScalars(PointEvaluator &evaluator, Value row, Value column) {
  for (auto [array, into] : scalars)
    set(evaluator.evaluate(array), into, tileIndex(row, column), array.getLoc());
  for (auto [weight, into] : llvm::zip(plan.weights, weights)) {
    Location loc = weight.exponent.getLoc();
    if (!weight.isRunning)
      set(distance(weight, loc, evaluator.evaluate(weight.exponent),
                   evaluator.evaluate(weight.reference)),
          into, tileIndex(row, column), loc);
  }
}

// Those of all rows and columns. Where folds are in them a thread has neighbours both ways: of what
// it reads, each row's is for all its columns, and each column's for all its rows.
void RowsLowering::computeScalars(Value count) {
  auto [rows, columns] = scalarsTogether(plan, schedule);
  if (rows * columns == 1)
    sharePoints(count, [&](Value row, Value column) {
      PointEvaluator evaluator = at(row, column);
      storeScalars(evaluator, row, column);
    });
  else
    shareBlocks(count, rows, columns);
  barrier();
}

void RowsLowering::shareBlocks(Value count, int64_t rows, int64_t columns) {
  Value rowBlocks = constant(schedule.rows / rows);
  Value up = binary("", '+', count, constant(columns - 1));
  Value columnBlocks = binary("", '/', up, constant(columns));
  Value last = binary("", '-', count, constant(1)); // beyond it nothing is read
  share(binary("", '*', columnBlocks, rowBlocks), "n", [&](Value n) {
    auto numbers = [&](StringRef name, Value first, Value step, int64_t extent) {
      SmallVector<Value> all;
      for (int64_t i = 0; i < extent; ++i)
        all.push_back(binary(name, '+', first, binary("", '*', step, constant(i))));
      return all;
    };
    SmallVector<std::pair<Value, Value>> places;
    std::vector<PointEvaluator> points, ofRows;
    SmallVector<Value> ownRows = numbers("row", binary("row", '%', n, rowBlocks), rowBlocks, rows);
    for (Value row : ownRows)
      ofRows.push_back(atRow(row));
    Value firstColumn = binary("column", '/', n, rowBlocks);
    for (Value column : numbers("column", firstColumn, columnBlocks, columns)) {
      Value inside = widen(binary("", '<', column, last), "");
      Value index = binary(plan.stream.getValue(), '+', column0, inside);
      for (auto [row, evaluator] : llvm::zip(ownRows, ofRows)) {
        points.push_back(evaluator);
        points.back().bind(plan.stream, index);
        places.emplace_back(row, column);
      }
    }
    for (auto &[array, into] : scalars)
      PointEvaluator::foldTogether(points, array);
    for (auto [point, place] : llvm::zip(points, places))
      storeScalars(point, place.first, place.second);
  });
}

// The arrays of a tile that are in shared memory, for one row and column.
void RowsLowering::provideTile(PointEvaluator &evaluator, Value row, Value column) {
  SmallVector<Value> indices = tileIndex(row, column);
  for (auto [array, place] : scalars)
    evaluator.provide(array, [this, array, place, indices](PointEvaluator &) {
      return get(place, indices, array.getLoc());
    });
}

// How far x is from y, in the weight's frame.
Value RowsLowering::distance(const RowsWeight &weight, Location loc, Value x, Value y) {
  red::FoldOp::Frame frame = red::frameOf(nest, weight.exponent, weight.reference);
  return red::inlineUpdate(b, loc, *frame.distance, {x, y});
}

// How far the element of a row and column is from what the state is relative to.
SmallVector<Value> RowsLowering::distancesAt(red::FoldOp state, PointEvaluator &evaluator,
                                             Value row, Value column, ArrayRef<Value> at,
                                             bool shared) {
  SmallVector<Value> by;
  if (int number = plan.weightOf(state); number >= 0)
    by.push_back(get(weights[number], tileIndex(row, column), weights[number].getLoc()));
  if (Value centre = state.getCentre()) {
    Value now = get(centres.lookup({centre, shared}), at, centre.getLoc());
    Value base = evaluator.evaluate(state.getBase());
    by.push_back(red::inlineUpdate(b, state.getLoc(), state.getDifference(), {base, now}));
  }
  return by;
}

// By how much what is summed against the state's reference is scaled, or null.
Value RowsLowering::rescaleAt(red::FoldOp state, Value row) {
  Value place = state.getReference() ? rescale.lookup(state.getReference()) : Value();
  return place ? get(place, rowIndex(row), place.getLoc()) : Value();
}

void RowsLowering::foldRows(ArrayRef<red::FoldOp> folds, Value count,
                            llvm::function_ref<void(Value, ArrayRef<Value>)> use) {
  auto oneRow = [&](Value row) {
    SmallVector<Value> init;
    for (red::FoldOp fold : folds)
      init.push_back(red::inlineUpdate(b, fold.getLoc(), fold.getEmpty(), {}));
    auto loop = scf::ForOp::create(b, named("column"), lane, count, constant(kWarp), init);
    loop.getInductionVar().setLoc(named("column"));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      PointEvaluator evaluator = at(row, loop.getInductionVar());
      provideTile(evaluator, row, loop.getInductionVar());
      SmallVector<Value> next;
      for (auto [i, running] : llvm::enumerate(loop.getRegionIterArgs())) {
        red::FoldOp fold = folds[i];
        running.setLoc(
            attn::renamed(fold.getLoc(), (attn::specName(fold.getLoc()) + "_part").str()));
        next.push_back(evaluator.takeIn(fold, running,
                                        distancesAt(fold, evaluator, row, loop.getInductionVar(),
                                                    rowIndex(row), /*shared=*/true),
                                        fold.getLoc()));
      }
      scf::YieldOp::create(b, nest.getLoc(), next);
    }
    SmallVector<Value> totals;
    for (auto [i, part] : llvm::enumerate(loop.getResults())) {
      red::FoldOp fold = folds[i];
      Location loc = attn::renamed(fold.getLoc(), (attn::specName(fold.getLoc()) + "_tile").str());
      totals.push_back(
          tile::FoldLanesOp::create(b, loc, part.getType(), combineOf(fold.getKind()), part));
    }
    Value isFirst =
        arith::CmpIOp::create(b, nest.getLoc(), arith::CmpIPredicate::eq, lane, constant(0));
    when(isFirst, [&] { use(row, totals); });
  };
  if (schedule.rows == 1) {
    Value isFirst =
        arith::CmpIOp::create(b, nest.getLoc(), arith::CmpIPredicate::eq, warp, constant(0));
    return when(isFirst, [&] { oneRow(constant(0)); });
  }
  loop(warp, constant(schedule.rows), schedule.threads / kWarp, "row", oneRow);
}

// Whatever references are made of, before the weights.
void RowsLowering::foldExtrema(Value count) {
  SmallVector<red::FoldOp> folds;
  for (red::FoldOp state : plan.plain)
    if (state.getKind() != red::FoldKind::Add)
      folds.push_back(state);
  if (folds.empty())
    return;
  foldRows(folds, count, [&](Value row, ArrayRef<Value> totals) {
    for (auto [fold, total] : llvm::zip(folds, totals)) {
      Location loc = fold.getLoc();
      Value place = states.lookup(fold);
      Value before = get(place, rowIndex(row), loc);
      std::string name = (attn::specName(loc) + "_next").str();
      Value next = red::inlineUpdate(b, attn::renamed(loc, name), fold.getMerge(), {before, total});
      if (Value factor = rescale.lookup(fold)) {
        const auto *weight = llvm::find_if(
            plan.weights, [&](const RowsWeight &known) { return known.reference == fold; });
        set(distance(*weight, loc, before, next), factor, rowIndex(row), loc);
      }
      set(next, place, rowIndex(row), loc);
    }
  });
  barrier();
}

void RowsLowering::computeWeights(Value count) {
  sharePoints(count, [&](Value row, Value column) {
    for (auto [weight, into] : llvm::zip(plan.weights, weights)) {
      if (!weight.isRunning)
        continue;
      Location loc = weight.exponent.getLoc();
      Value exponent = get(scalars.lookup(weight.exponent), tileIndex(row, column), loc);
      Value reference =
          get(states.lookup(weight.reference), rowIndex(row), weight.reference.getLoc());
      set(distance(weight, loc, exponent, reference), into, tileIndex(row, column), loc);
    }
  });
  barrier();
}

// Sums without inner dims; then the moments about what they make.
void RowsLowering::foldPlain(Value count) {
  foldPlainSums(count, /*moments=*/false);
  bool areRead = hasMoments(plan.plain);
  for (const RowsGroup &group : plan.groups)
    areRead |= hasMoments(group.states);
  if (areRead)
    barrier();
  movePlainMoments(/*complete=*/false);
  foldPlainSums(count, /*moments=*/true);
}

void RowsLowering::foldPlainSums(Value count, bool moments) {
  SmallVector<red::FoldOp> folds;
  for (red::FoldOp state : plan.plain)
    if (state.getKind() == red::FoldKind::Add && bool(state.getCentre()) == moments)
      folds.push_back(state);
  if (folds.empty())
    return;
  foldRows(folds, count, [&](Value row, ArrayRef<Value> totals) {
    for (auto [fold, total] : llvm::zip(folds, totals)) {
      Location loc = fold.getLoc();
      Value place = states.lookup(fold);
      Value before = get(place, rowIndex(row), loc);
      if (Value factor = moments ? Value() : rescaleAt(fold, row))
        before = red::inlineUpdate(b, loc, fold.getRescale(), {before, factor});
      keepLower(fold, before, rowIndex(row));
      set(red::inlineUpdate(b, loc, fold.getMerge(), {before, total}), place, rowIndex(row), loc);
    }
  });
}

void RowsLowering::foldGroup(unsigned number, Value count) {
  const RowsGroup &group = plan.groups[number];
  eachTurn(number, [&](Value turn, Value item) {
    auto [own, element] = splitItem(group, item);
    PointEvaluator evaluator = rowsTogether(group, schedule) == 1 ? atRow(own) : block;
    bindInner(evaluator, group.dims, element);
    foldElement(number, count, turn, evaluator, own);
  });
}

// The states of one element, of its own row or of all.
void RowsLowering::foldElement(unsigned number, Value count, Value turn, PointEvaluator evaluator,
                               Value own) {
  const RowsGroup &group = plan.groups[number];
  bool moves = llvm::any_of(group.states, [&](red::FoldOp state) {
    bool isScaled = state.getReference() && rescale.contains(state.getReference());
    return isScaled || lowerSums.contains(state);
  });
  if (moves)
    eachRow(group, own, [&](Value row, Value rowNumber) {
      SmallVector<Value> at = elementIndex(turn, rowNumber);
      for (red::FoldOp state : group.states) {
        Value factor = rescaleAt(state, row), place = elements.lookup(state);
        if (!factor && !lowerSums.contains(state))
          continue;
        Value before = get(place, at, state.getLoc());
        if (factor)
          set(before = red::inlineUpdate(b, state.getLoc(), state.getRescale(), {before, factor}),
              place, at, state.getLoc());
        keepLower(state, before, at);
      }
    });
  foldColumns(number, count, turn, evaluator, own, /*moments=*/false);
  if (!hasMoments(group.states))
    return;
  eachRow(group, own, [&](Value row, Value rowNumber) {
    SmallVector<Value> at = elementIndex(turn, rowNumber);
    PointEvaluator here = elementOf(group, evaluator, row, at);
    moveMoments(group.states, here, row, at, /*shared=*/false, /*complete=*/false);
  });
  foldColumns(number, count, turn, evaluator, own, /*moments=*/true);
}

// The evaluator of an element with its states as they are.
PointEvaluator RowsLowering::elementOf(const RowsGroup &group, PointEvaluator evaluator, Value row,
                                       ArrayRef<Value> at) {
  if (plan.row && !evaluator.index(plan.row))
    evaluator.bind(plan.row, atRow(row).index(plan.row));
  provideStates(evaluator, row);
  SmallVector<Value> indices(at);
  for (red::FoldOp state : group.states)
    evaluator.provide(state, [this, place = elements.lookup(state), indices, loc = state->getLoc()](
                                 PointEvaluator &) { return get(place, indices, loc); });
  return evaluator;
}

// Adds the terms of the tile's columns.
void RowsLowering::foldColumns(unsigned number, Value count, Value turn, PointEvaluator evaluator,
                               Value own, bool moments) {
  const RowsGroup &group = plan.groups[number];
  SmallVector<red::FoldOp> folds;
  for (red::FoldOp state : group.states)
    if (bool(state.getCentre()) == moments)
      folds.push_back(state);
  if (folds.empty())
    return;
  auto oneColumn = [&](Value column) {
    PointEvaluator here = evaluator;
    here.bind(plan.stream, binary(plan.stream.getValue(), '+', column0, widen(column, "")));
    if (rowsTogether(group, schedule) > 1)
      for (red::FoldOp fold : folds)
        for (Value operand : operandsOf(fold))
          here.hoist(operand, {plan.row});
    eachRow(group, own, [&](Value row, Value rowNumber) {
      PointEvaluator element = here;
      if (plan.row && !element.index(plan.row))
        element.bind(plan.row, atRow(row).index(plan.row));
      provideTile(element, row, column);
      SmallVector<Value> at = elementIndex(turn, rowNumber);
      for (red::FoldOp fold : folds) {
        Value place = elements.lookup(fold);
        Value running = get(place, at, fold.getLoc());
        SmallVector<Value> by = distancesAt(fold, element, row, column, at, /*shared=*/false);
        set(element.takeIn(fold, running, by, fold.getLoc()), place, at, fold.getLoc());
      }
    });
  };
  loop(constant(0), count, 1, "column", oneColumn, kUnrolledColumns);
}

} // namespace attnc::schedule
