// Where a schedule cuts operands along their inner dims: the block's part of the columns of states,
// and scores as sums of parts.
#include "compiler/schedule/portable/warp_lowering.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

//===----------------------------------------------------------------------===//
// Columns of states
//===----------------------------------------------------------------------===//

// The offset of row 0 of a streamed operand, from the block's first column on.
Value WarpLowering::streamedBase(unsigned number) {
  Value base = operandBase(plan.streamed[number]);
  if (!columnPart || sharesRows() || !isStateOperand(plan, number) || isScoreOperand(plan, number))
    return base;
  return arith::AddIOp::create(b, base.getLoc(), base, widen(partBegin(), ""));
}

void WarpLowering::copyStreamed(unsigned number, Value first, Value slot) {
  const OperandTile &operand = plan.streamed[number];
  if (operand.isComputed())
    return;
  auto ring = cast<tile::RingType>(rings[number].getType());
  Value stage = tile::StageOp::create(b, attn::ReadOp(operand.read).getLoc(), ring.getTile(),
                                      rings[number], slot);
  Value columns;
  if (isStateOperand(plan, number) && !isScoreOperand(plan, number))
    columns = columnsLeft(operand.wholeCols(), operand.cols);
  copyOperand(operand, bases[number], first, ends[number], stage, columns);
}

//===----------------------------------------------------------------------===//
// Scores as sums of parts
//===----------------------------------------------------------------------===//

bool WarpLowering::isInParts() { return sharesRows() || depthTiles(plan) > 1; }

int64_t WarpLowering::tileParts() { return schedule::tileParts(plan, schedule); }

// The columns of part `part` and of what follows it, where the last part is not a whole one.
static int64_t columnsAfter(const OperandTile &operand) {
  return operand.wholeCols() % operand.cols ? operand.wholeCols() : 0;
}

void WarpLowering::fillResident(const OperandTile &operand) {
  Value whole = resident[operand.source];
  int64_t parts = partsOf(operand);
  if (parts == 1) {
    if (operand.isComputed())
      tabulate(operand, plan.row, row0, whole);
    else
      copyOperand(operand, operandBase(operand), row0, operandEnd(operand, plan.row), whole);
    return;
  }
  Location loc = operand.source->getLoc();
  auto type = cast<tile::RingType>(whole.getType()).getTile();
  for (int64_t part = 0; part < parts; ++part) {
    Value into = tile::StageOp::create(b, loc, type, whole, constant(part));
    int64_t begin = part * operand.cols;
    if (operand.isComputed()) {
      tabulate(operand, plan.row, row0, into, constant(begin));
      continue;
    }
    Value columns;
    if (begin + operand.cols > operand.wholeCols())
      columns = constant(operand.wholeCols() - begin);
    Value skipped = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(begin));
    Value base = arith::AddIOp::create(b, loc, operandBase(operand), skipped);
    copyOperand(operand, base, row0, operandEnd(operand, plan.row), into, columns);
  }
}

// The copies of the first tile's first parts.
void WarpLowering::startFirstParts() {
  Value index = firstTile, slot = firstTile;
  if (skipsTiles()) {
    ahead.left = firstLive();
    auto [number, full] = firstOf(ahead.left);
    ahead.numbers.push_back(number);
    ahead.full.push_back(full);
    std::tie(index, slot) = std::pair(number, constant(0));
  }
  Location loc = nest.getLoc();
  Value before = b.createOrFold<arith::MulIOp>(loc, slot, constant(tileParts()));
  for (int64_t part = 0; part + 1 < schedule.stages; ++part)
    startPart(index, constant(part), b.createOrFold<arith::AddIOp>(loc, before, constant(part)));
}

// The copies of one part of tile `index`, the `number`th of all parts, as startCopies. What is not
// in parts comes with the part at which it is needed.
void WarpLowering::startPart(Value index, Value part, Value number) {
  Location loc = nest.getLoc();
  auto mayBe = [&](arith::CmpIPredicate is, Value x, Value y) {
    Value condition = b.createOrFold<arith::CmpIOp>(loc, is, x, y);
    if (APInt known; matchPattern(condition, m_ConstantInt(&known)))
      return known.isOne();
    auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    return true;
  };
  {
    OpBuilder::InsertionGuard guard(b);
    mayBe(arith::CmpIPredicate::slt, index, endTile);
    Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "_next"), index,
                                        constant(schedule.streamTile));
    for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
      OpBuilder::InsertionGuard inner(b);
      if (operand.isComputed())
        continue;
      bool isScore = isScoreOperand(plan, i);
      Value scores = constant(depthTiles(plan));
      if (sharesRows() && isScore) {
        if (mayBe(arith::CmpIPredicate::slt, part, scores))
          copyScorePart(i, first, part, number);
      } else if (sharesRows()) {
        if (mayBe(arith::CmpIPredicate::sge, part, scores))
          copyValues(i, first, b.createOrFold<arith::SubIOp>(loc, part, scores), number);
      } else if (isScore && partsOf(operand) > 1) {
        copyScorePart(i, first, part, number);
      } else {
        Value with = constant(isScore ? 0 : depthTiles(plan) - 1);
        if (mayBe(arith::CmpIPredicate::eq, part, with))
          copyStreamed(i, first, constant(0));
      }
    }
  }
  tile::CommitOp::create(b, loc);
}

void WarpLowering::copyScorePart(unsigned number, Value first, Value part, Value slot) {
  const OperandTile &operand = plan.streamed[number];
  Location loc = attn::ReadOp(operand.read).getLoc();
  auto ring = cast<tile::RingType>(rings[number].getType());
  Value stage = tile::StageOp::create(b, loc, ring.getTile(), rings[number], slot);
  Value begin =
      arith::MulIOp::create(b, named("depth_begin"), part, constant(operand.cols)).getResult();
  Value base = arith::AddIOp::create(b, loc, bases[number], widen(begin, ""));
  Value columns;
  // Operands of fewer parts than others are zero in the rest.
  if (partsOf(operand) < depthTiles(plan) || columnsAfter(operand))
    columns = arith::SubIOp::create(b, named("columns_left"), constant(operand.wholeCols()), begin);
  copyOperand(operand, base, first, ends[number], stage, columns);
}

void WarpLowering::awaitCopies() {
  tile::WaitOp::create(b, nest.getLoc(), b.getI64IntegerAttr(schedule.stages - 2));
  tile::BarrierOp::create(b, nest.getLoc());
}

// Starts the copies that are due before tile `index`, and returns the tile after those under way.
Value WarpLowering::advance(Value index, Value slot) {
  if (isInParts())
    return arith::AddIOp::create(b, named("next"), index, constant(1));
  awaitCopies();
  Value next = arith::AddIOp::create(b, named("next"), index, constant(schedule.stages - 1));
  startCopies(next, next);
  return next;
}

// The tile's operands that no tensor has.
void WarpLowering::tabulateStreamed() {
  bool computes = false;
  for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
    bool inParts = isScoreOperand(plan, i) && partsOf(operand) > 1;
    if (!operand.isComputed() || inParts)
      continue;
    if (!computes && isInParts()) // what the tile before has read
      tile::BarrierOp::create(b, nest.getLoc());
    computes = true;
    bool shared = columnPart && !isScoreOperand(plan, i);
    tabulate(operand, plan.stream, column0, rings[i], shared ? partBegin() : Value());
  }
  if (computes)
    tile::BarrierOp::create(b, nest.getLoc());
}

// Waits for a part of tile `index` and starts the copies of a later one. Returns its number among
// all parts.
Value WarpLowering::awaitPart(Value index, Value slot, Value next, Value part) {
  Location loc = nest.getLoc();
  Value parts = constant(tileParts());
  int64_t distance = schedule.stages - 1;
  awaitCopies();
  Value before = arith::MulIOp::create(b, loc, slot, parts);
  Value number = arith::AddIOp::create(b, named("number"), before, part);
  Value later = arith::AddIOp::create(b, named("later"), part, constant(distance));
  Value ofNext = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, later, parts);
  Value laterOfNext = arith::SubIOp::create(b, loc, later, parts);
  startPart(arith::SelectOp::create(b, named("tile_ahead"), ofNext, next, index),
            arith::SelectOp::create(b, named("part_ahead"), ofNext, laterOfNext, later),
            arith::AddIOp::create(b, loc, number, constant(distance)));
  return number;
}

// The parts of the scores of tile `index` one after the other, while the next ones arrive.
void WarpLowering::multiplyParts(Value index, Value slot, Value next) {
  Location loc = nest.getLoc();
  for (const Contraction &contraction : plan.contractions)
    contractionFragments[red::FoldOp(contraction.fold)] = contractionPlace(contraction.fold, 0);
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(depthTiles(plan)), constant(1));
  loop.getInductionVar().setLoc(named("part"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value part = loop.getInductionVar();
  Value number = awaitPart(index, slot, next, part);
  bool computes = false;
  for (auto [i, operand] : llvm::enumerate(plan.streamed))
    if (operand.isComputed() && isScoreOperand(plan, i) && partsOf(operand) > 1) {
      Value begin = arith::MulIOp::create(b, loc, part, constant(operand.cols));
      tabulate(operand, plan.stream, column0, rings[i], begin);
      computes = true;
    }
  if (computes)
    tile::BarrierOp::create(b, loc);
  for (const Contraction &contraction : plan.contractions)
    multiplyPart(contraction, part, number);
}

void WarpLowering::multiplyPart(const Contraction &contraction, Value part, Value number) {
  red::FoldOp fold = contraction.fold;
  Location loc = fold.getLoc();
  OpBuilder::InsertionGuard guard(b);
  const OperandTile &operand = contraction.resident;
  Value rows = resident[operand.source], tile = rings[contraction.streamed];
  int64_t parts = partsOf(operand);
  if (parts < depthTiles(plan)) {
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, part, constant(parts));
    auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  if (parts > 1)
    rows =
        tile::StageOp::create(b, loc, cast<tile::RingType>(rows.getType()).getTile(), rows, part);
  if (auto ring = dyn_cast<tile::RingType>(tile.getType()))
    tile = tile::StageOp::create(b, loc, ring.getTile(), tile,
                                 parts > 1 || sharesRows() ? number : constant(0));
  if (sharesRows())
    tile = strip(loc, tile, scoreColumns(), times(warpColumn, scoreColumns()));
  tile::MmaOp::create(b, loc, contractionFragments[fold], warpStrip(loc, rows), tile,
                      /*transposed=*/true);
}

} // namespace attnc::schedule
