// Tables of what scores depend on through the difference of their indices alone.
#include "compiler/schedule/steps/steps_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

static constexpr int64_t kGroupThreads = 128;

void StepsLowering::placeDifferences() {
  if (!tabulatesDifferences(plan, schedule))
    return;
  auto type = tile::RingType::get(b.getContext(), kDifferenceTables * schedule.groups,
                                  differenceTable(b.getContext(), schedule));
  for (const Difference &each : plan.differences) {
    StringRef name = attn::specName(each.array.getLoc());
    std::string table = (name.empty() ? "value" : name.str()) + "_by_difference";
    differenceRings[each.array] =
        tile::SharedOp::create(b, named(table), type, b.getI64IntegerAttr(0));
  }
}

// Those of one tile are next to each other, one for each group.
void StepsLowering::stageDifferences() {
  if (differenceRings.empty())
    return;
  Location loc = nest.getLoc();
  Value before = arith::MulIOp::create(b, loc, stream.getNumber(), constant(schedule.groups));
  Value number = arith::AddIOp::create(b, named("table"), before, group);
  for (auto &[array, ring] : differenceRings)
    differenceTables[array] = tile::StageOp::create(
        b, ring.getLoc(), cast<tile::RingType>(ring.getType()).getTile(), ring, number);
  Value first = arith::SubIOp::create(b, loc, branchRow0, column0);
  firstDifference = add(first, 1 - tiles.columns, "first_difference");
}

// The value of a difference is that of row `difference` and stream index 0, whether there is such a
// row or not. It is computed of differences alone that some row and index have: what these read is
// in their tensors.
void StepsLowering::writeDifferences(Value array, Value table) {
  Location loc = array.getLoc();
  auto op = tile::TabulateOp::create(b, loc, table, constant(0), /*by_group=*/true);
  OpBuilder::InsertionGuard guard(b);
  Block &block = op.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  block.addArgument(b.getI32Type(), named("row"));
  Value number = block.addArgument(b.getI32Type(), named("number"));
  Value least = arith::SubIOp::create(b, loc, constant(1), extent32(plan.stream));
  Value most = arith::SubIOp::create(b, loc, extent32(plan.row), constant(1));
  Value difference = arith::AddIOp::create(b, loc, firstDifference, number);
  difference = arith::MaxSIOp::create(b, loc, difference, least);
  difference = arith::MinSIOp::create(b, named("difference"), difference, most);
  PointEvaluator evaluator = uniform;
  evaluator.bind(plan.row, widen(difference, ""));
  evaluator.bind(plan.stream, widen(constant(0), ""));
  if (visitsEmptyStreams)
    evaluator.readOnlyIf(plan.stream, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                                            extent32(plan.stream), constant(0)));
  tile::YieldOp::create(b, loc, evaluator.evaluate(array));
}

// A group meets once a tile, between writing a table and reading it. Of two tables it then writes
// the one that all its warps are done with: they have met since. Not so where it has let tiles
// pass, or begins a row tile: there it meets before it writes, too.
tile::StepOp StepsLowering::differenceStep() {
  if (differenceTables.empty())
    return {};
  return step("differences", 0, [&]() -> SmallVector<Value> {
    Location loc = nest.getLoc();
    auto meet = [&] { // behind the barriers of groups that take turns
      tile::BarrierSyncOp::create(b, loc, Type(), add(group, schedule.groups + 1),
                                  b.getI64IntegerAttr(kGroupThreads), Value());
    };
    if (stream.isListed()) {
      meet();
    } else {
      auto begins = scf::IfOp::create(b, loc, stream.getIsFirst(), /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(begins.thenBlock());
      meet();
    }
    for (auto &[array, table] : differenceTables)
      writeDifferences(array, table);
    meet();
    return {};
  });
}

} // namespace attnc::schedule
