// Sums of powers of differences from centres, in the rows form: with each tile a centre moves to
// what the sums have become, and its moments with it; then the tile's terms are added.
#include "compiler/schedule/threads/rows_lowering.h"
#include "dialects/Attn/SpecLocation.h"

using namespace mlir;

namespace attnc::schedule {

// Of a state without inner dims.
static bool isPlain(const RowsPlan &plan, Value state) {
  return llvm::is_contained(plan.plain, state.getDefiningOp<red::FoldOp>());
}

bool RowsLowering::hasMoments(ArrayRef<red::FoldOp> folds) {
  return llvm::any_of(folds, [](red::FoldOp fold) { return bool(fold.getCentre()); });
}

// Places for where the centres of moments are, and for the sums below these as they were before the
// tile.
void RowsLowering::createCentres(ArrayRef<red::FoldOp> folds, ArrayRef<int64_t> shape,
                                 bool shared) {
  auto placeFor = [&](Value array, StringRef suffix, ArrayRef<int64_t> extents, bool isShared) {
    std::string name = (attn::specName(array.getLoc()) + suffix).str();
    Type type = cast<attn::ArrayType>(array.getType()).getElementType();
    return this->array(attn::renamed(array.getLoc(), name), extents, type, isShared);
  };
  for (red::FoldOp fold : folds) {
    if (!fold.getCentre())
      continue;
    if (Value &place = centres[{fold.getCentre(), shared}]; !place)
      place = placeFor(fold.getCentre(), "_centre", shape, shared);
    for (Value sum : fold.getLower()) {
      if (sum.getDefiningOp<red::FoldOp>().getCentre() || lowerSums.contains(sum))
        continue;
      bool plain = isPlain(plan, sum);
      ArrayRef<int64_t> extents = plain ? ArrayRef<int64_t>(schedule.rows) : shape;
      lowerSums[sum] = placeFor(sum, "_before", extents, plain);
    }
  }
}

// Keeps what the tile's terms are added to, for moments.
void RowsLowering::keepLower(red::FoldOp sum, Value before, ArrayRef<Value> at) {
  if (Value place = lowerSums.lookup(sum))
    set(before, place, at, sum.getLoc());
}

void RowsLowering::startCentres(ArrayRef<red::FoldOp> folds, ArrayRef<Value> at, bool shared) {
  for (red::FoldOp fold : folds)
    if (Value centre = fold.getCentre())
      set(startOf(b, centre), centres.lookup({centre, shared}), at, centre.getLoc());
}

// The moments at a place, about where the evaluator's states have their centres. While the stream
// runs the sums below are those before the tile; after it, complete ones.
void RowsLowering::moveMoments(ArrayRef<red::FoldOp> folds, PointEvaluator &evaluator, Value row,
                               ArrayRef<Value> at, bool shared, bool complete) {
  llvm::MapVector<Value, Value> shifts, before;
  auto placeOf = [&](red::FoldOp fold) {
    return shared ? states.lookup(fold) : elements.lookup(fold);
  };
  for (red::FoldOp fold : folds) {
    Value centre = fold.getCentre();
    if (!centre)
      continue;
    before[fold] = get(placeOf(fold), at, fold.getLoc());
    if (Value factor = complete || !shared ? Value() : rescaleAt(fold, row))
      before[fold] = red::inlineUpdate(b, fold.getLoc(), fold.getRescale(), {before[fold], factor});
    if (shifts.contains(centre))
      continue;
    Value place = centres.lookup({centre, shared});
    Value old = get(place, at, centre.getLoc());
    Value now = evaluator.evaluate(centre);
    if (!complete)
      set(now = movedCentre(b, fold, old, now), place, at, centre.getLoc());
    shifts[centre] = shiftOf(b, fold, old, now);
  }
  for (red::FoldOp fold : folds) {
    if (!fold.getCentre())
      continue;
    SmallVector<Value> lower;
    for (Value sum : fold.getLower()) {
      if (Value moment = before.lookup(sum))
        lower.push_back(moment);
      else if (complete)
        lower.push_back(evaluator.evaluate(sum));
      else
        lower.push_back(
            get(lowerSums.lookup(sum), isPlain(plan, sum) ? rowIndex(row) : at, sum.getLoc()));
    }
    Value moved =
        shiftedMoment(b, fold, before.lookup(fold), shifts.lookup(fold.getCentre()), lower);
    set(moved, placeOf(fold), at, fold.getLoc());
  }
}

// Moments without inner dims: each row's by one thread.
void RowsLowering::movePlainMoments(bool complete) {
  if (!hasMoments(plan.plain))
    return;
  share(constant(schedule.rows), "row", [&](Value row) {
    PointEvaluator evaluator = atRow(row);
    provideStates(evaluator, row);
    moveMoments(plan.plain, evaluator, row, rowIndex(row), /*shared=*/true, complete);
  });
  barrier();
}

} // namespace attnc::schedule
