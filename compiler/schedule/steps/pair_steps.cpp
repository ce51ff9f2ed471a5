// Results with an element for each row and stream index, which leave tile by tile.
#include "compiler/schedule/steps/steps_lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// The scores of a tile move to other registers, so that those of the next one are computed while
// the results are made of them, and stored.
void StepsLowering::describePairSteps() {
  scoreSteps();
  SmallVector<tile::StepOp> order = {keepScores()};
  llvm::append_range(order, scoreGroup);
  order.push_back(step("pairs", 1, [&]() -> SmallVector<Value> {
    for (auto [read, tile] : inputsOf)
      inputTiles[read->getResult(0)] = columnsAtHand(warpStrip(read->getLoc(), tile));
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    auto arrays = llvm::map_to_vector(
        plan.pairs, [&](OpResult pair) { return yield.getValues()[pair.getResultNumber()]; });
    SmallVector<Value> kept = llvm::map_to_vector(plan.contractions, [&](const Contraction &each) {
      return contractionFragments[red::FoldOp(each.fold)->getResult(0)];
    });
    for (auto [pair, fragment] : llvm::zip(plan.pairs, pairFragments(arrays, kept)))
      storeBox(fragment, pair, resultTiles.lookup(pair), column0);
    return {};
  }));
  setOrder(order);
}

tile::StepOp StepsLowering::keepScores() {
  return step("keep", 1, [&]() -> SmallVector<Value> {
    for (auto [contraction, place] : llvm::zip(plan.contractions, places)) {
      red::FoldOp fold = contraction.fold;
      Location loc = fold.getLoc();
      Value kept = registers(loc, scoreType());
      map(loc, {plan.stream, column0}, {}, {{place, {}}}, kept,
          [](PointEvaluator &, ValueRange x) -> SmallVector<Value> { return {x[0]}; });
      contractionFragments[fold->getResult(0)] = kept;
    }
    return {};
  });
}

// What lies beside the group's part of the stream is 0. One tile of zeros leaves as often as there
// are such tiles.
void StepsLowering::storeZeros() {
  if (!nest.getDomainBlock())
    return;
  Location loc = nest.getLoc();
  Value first = stream.getOwnFirst() ? stream.getOwnFirst() : firstTile;
  Value end = stream.getOwnEnd() ? stream.getOwnEnd() : endTile;
  if (Value any = stream.getAny()) // a block that skips the stream stores no tile of it
    end = arith::SelectOp::create(b, loc, any, end, first);
  Value all = tileNumber(memory.extent(b, loc, plan.stream), tiles.columns, true, "tiles");
  awaitStores();
  for (OpResult pair : plan.pairs) {
    Value strip = warpStrip(loc, resultTiles.lookup(pair));
    tile::StoreFragmentOp::create(b, loc, registers(loc, scoreType(), 0), strip);
    tile::PublishOp::create(b, loc);
    auto store = [&](Value from, Value to) {
      auto loop = scf::ForOp::create(b, loc, from, to, constant(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value column = arith::MulIOp::create(b, loc, loop.getInductionVar(), constant(tiles.columns));
      storeStrip(strip, pair, column);
    };
    byOneThread([&] {
      store(constant(0), first);
      store(end, all);
      tile::StoreCommitOp::create(b, loc);
    });
  }
}

} // namespace attnc::schedule
