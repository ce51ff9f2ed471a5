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
  if (!columnPart || warpColumn || !isStateOperand(plan, number) || isScoreOperand(plan, number))
    return base;
  return arith::AddIOp::create(b, base.getLoc(), base, widen(partBegin(), ""));
}

void WarpLowering::copyStreamed(unsigned number, Value first, Value slot) {
  const OperandTile &operand = plan.streamed[number];
  Location loc = attn::ReadOp(operand.read).getLoc();
  if (int64_t tiles = columnTiles(plan, number, schedule); tiles > 1)
    return copyColumns(number, first, times(slot, tiles), tiles);
  Value columns;
  if (!warpColumn && isStateOperand(plan, number) && !isScoreOperand(plan, number))
    columns = columnsLeft(operand.wholeCols(), operand.cols);
  copyOperand(operand, bases[number], first, ends[number], stage(loc, rings[number], slot),
              columns);
}

//===----------------------------------------------------------------------===//
// Columns of states by groups of warps
//===----------------------------------------------------------------------===//

Value WarpLowering::streamedTile(unsigned number, Location loc, Value slot) {
  int64_t tiles = columnTiles(plan, number, schedule);
  bool copied = isCopied(plan.streamed[number]);
  if (tiles == 1)
    return copied ? stage(loc, rings[number], slot) : rings[number];
  Value own = turn(columnPart, headDimTiles(plan), tiles);
  if (copied)
    own = arith::AddIOp::create(b, loc, times(slot, tiles), own);
  return stage(loc, rings[number], own);
}

// All parts of an operand that no tensor has.
void WarpLowering::tabulateColumns(unsigned number) {
  const OperandTile &operand = plan.streamed[number];
  for (int64_t part = 0; part < columnTiles(plan, number, schedule); ++part)
    tabulate(operand, plan.stream, column0, stage(nest.getLoc(), rings[number], constant(part)),
             constant(part * operand.cols));
}

//===----------------------------------------------------------------------===//
// Scores as sums of parts
//===----------------------------------------------------------------------===//

bool WarpLowering::isInParts() { return sharesRows() || depthTiles(plan) > 1; }

static bool endsInPart(const OperandTile &operand) {
  return operand.wholeCols() % operand.cols != 0;
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

// What arrives with a part of a tile. What is not in parts comes with the one at which it is
// needed.
void WarpLowering::copyInPart(unsigned number, Value first, Value part, Value slot) {
  OpBuilder::InsertionGuard guard(b);
  Location loc = nest.getLoc();
  auto onlyWhere = [&](arith::CmpIPredicate is, int64_t bound) {
    Value condition = arith::CmpIOp::create(b, loc, is, part, constant(bound));
    auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  };
  bool isScore = isScoreOperand(plan, number);
  int64_t scores = depthTiles(plan);
  if (sharesRows() && !isScore) {
    onlyWhere(arith::CmpIPredicate::sge, scores);
    copyValues(number, first, arith::SubIOp::create(b, loc, part, constant(scores)), slot);
  } else if (isScore && (sharesRows() || partsOf(plan.streamed[number]) > 1)) {
    if (sharesRows())
      onlyWhere(arith::CmpIPredicate::slt, scores);
    copyScorePart(number, first, part, slot);
  } else {
    onlyWhere(arith::CmpIPredicate::eq, isScore ? 0 : scores - 1);
    copyStreamed(number, first, constant(0));
  }
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
  if (partsOf(operand) < depthTiles(plan) || endsInPart(operand))
    columns = arith::SubIOp::create(b, named("columns_left"), constant(operand.wholeCols()), begin);
  copyOperand(operand, base, first, ends[number], stage, columns);
}

// The tile's operands that no tensor has.
void WarpLowering::tabulateStreamed() {
  bool computes = false;
  for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
    bool inParts = isScoreOperand(plan, i) && partsOf(operand) > 1;
    if (isCopied(operand) || inParts)
      continue;
    if (!computes && isInParts()) // what the tile before has read
      tile::BarrierOp::create(b, nest.getLoc());
    computes = true;
    if (columnTiles(plan, i, schedule) > 1) {
      tabulateColumns(i);
      continue;
    }
    bool shared = columnPart && !warpColumn && !isScoreOperand(plan, i);
    tabulate(operand, plan.stream, column0, rings[i], shared ? partBegin() : Value());
  }
  if (computes)
    tile::BarrierOp::create(b, nest.getLoc());
}

// The parts of a tile's scores one after the other, while the next ones arrive.
void WarpLowering::multiplyParts() {
  for (const Contraction &contraction : plan.contractions)
    contractionFragments[red::FoldOp(contraction.fold)] = contractionPlace(contraction.fold, 0);
  stepInParts("scores", depthTiles(plan), [&](Value part, Value number) {
    bool computes = false;
    for (auto [i, operand] : llvm::enumerate(plan.streamed))
      if (operand.isComputed() && isScoreOperand(plan, i) && partsOf(operand) > 1) {
        Value begin = arith::MulIOp::create(b, nest.getLoc(), part, constant(operand.cols));
        tabulate(operand, plan.stream, column0, rings[i], begin);
        computes = true;
      }
    if (computes)
      tile::BarrierOp::create(b, nest.getLoc());
    for (const Contraction &contraction : plan.contractions)
      multiplyPart(contraction, part, number);
  });
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
