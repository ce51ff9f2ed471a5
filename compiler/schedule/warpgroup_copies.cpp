#include "compiler/schedule/warpgroup_frame.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

/// One thread copies: for each row tile its resident operands, and the tiles of the stream in the
/// order in which the other warps need them.
class Copies : public WarpgroupFrame {
public:
  using WarpgroupFrame::WarpgroupFrame;
  void build();

private:
  Counters copyRowTile(Counters before);
  Value copyTiles(Value shift);
  Value copyLiveTiles(Value first);
  void draw();
  Value handOver(Value turn);
  void fill(const OperandTile &operand, Value pipe, Value number, Value first);
  void fillInput(const InputTile &input, Value pipe, Value number, Value column);
  void fillStreamed(bool early, Value tile, Value number);
  SmallVector<Value> coordinates(attn::ReadOp read, unsigned rowAxis, Value first);

  Value drawn; ///< i32: the number of the block's next row tile
};

} // namespace

void Copies::build() {
  Location loc = nest.getLoc();
  auto role =
      tile::RoleOp::create(b, loc, b.getStringAttr("load"), b.getI64IntegerAttr(0),
                           b.getI64IntegerAttr(4), b.getI64IntegerAttr(schedule.loadRegisters));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&role.getBody().emplaceBlock());
  auto single = tile::SingleOp::create(b, loc);
  b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  auto body = [&](Value work, Counters before) {
    locate(work);
    std::tie(firstTile, endTile) = tileRange(row0, tiles.rows);
    return copyRowTile(before);
  };
  forEachWork(body, [&](Value turn) { return handOver(turn); });
}

// Blocks draw as many numbers as there are row tiles: all but each one's first, and each one that
// there is no row tile for.
void Copies::draw() {
  Location loc = nest.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value ticket = tile::TicketOp::create(b, named("ticket"), memory.counter(), zero, block.works,
                                        /*relaxed=*/true);
  drawn = add(tile::GridSizeOp::create(b, loc), ticket, "next");
}

Value Copies::handOver(Value turn) {
  Location loc = nest.getLoc();
  tile::AcquireOp::create(b, loc, block.queue, turn);
  tile::PutOp::create(b, loc, block.queue, turn, drawn);
  return drawn;
}

// Products of scores run one tile ahead of what is summed with them.
WarpgroupFrame::Counters Copies::copyRowTile(Counters before) {
  Value shift;
  if (!skipsTiles())
    shift = b.createOrFold<arith::SubIOp>(nest.getLoc(), before.streamed, firstTile);
  fillStreamed(/*early=*/true, firstTile, before.streamed);
  for (auto &[read, pipe] : block.residents)
    for (const Contraction &contraction : plan.contractions)
      if (attn::ReadOp(contraction.resident.read) == read) {
        fill(contraction.resident, pipe, before.resident, row0);
        break;
      }
  Value after = shift ? copyTiles(shift) : copyLiveTiles(before.streamed);
  return {after, add(before.resident, 1)};
}

// Returns the number of the tile after the row tile's last one.
Value Copies::copyTiles(Value shift) {
  Location loc = nest.getLoc();
  auto loop = scf::ForOp::create(b, loc, add(firstTile, 1), endTile, constant(1));
  loop.getInductionVar().setLoc(named("t"));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar(), number = add(tile, shift);
    fillStreamed(/*early=*/true, tile, number);
    fillStreamed(/*early=*/false, add(tile, -1), add(number, -1, "before"));
  }
  // As late as the time until the last slot is free still hides how long it takes.
  if (schedule.draws)
    draw();
  Value after = add(endTile, shift, "tiles_after");
  fillStreamed(/*early=*/false, add(endTile, -1), add(after, -1, "last"));
  return after;
}

// The same over the first tile, whose number in the pipes is `first`, and those that matter.
Value Copies::copyLiveTiles(Value first) {
  Location loc = nest.getLoc();
  Value next = add(first, 1);
  SmallVector<Value> init = {next, firstTile};
  auto loop = scf::ForOp::create(b, loc, add(firstTile, 1), endTile, constant(1), init);
  loop.getInductionVar().setLoc(named("t"));
  loop.getRegionIterArg(0).setLoc(named("number"));
  loop.getRegionIterArg(1).setLoc(named("tile_before"));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value tile = loop.getInductionVar(), number = loop.getRegionIterArg(0);
    auto branch = scf::IfOp::create(b, loc, ValueRange(init).getTypes(), isLive(tile),
                                    /*withElseRegion=*/true);
    scf::YieldOp::create(b, loc, branch.getResults());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, loop.getRegionIterArgs());
    b.setInsertionPointToStart(branch.thenBlock());
    fillStreamed(/*early=*/true, tile, number);
    fillStreamed(/*early=*/false, loop.getRegionIterArg(1), add(number, -1, "before"));
    scf::YieldOp::create(b, loc, ValueRange{add(number, 1), tile});
  }
  if (schedule.draws)
    draw();
  Value after = loop.getResult(0);
  fillStreamed(/*early=*/false, loop.getResult(1), add(after, -1, "last"));
  return after;
}

void Copies::fillStreamed(bool early, Value tile, Value number) {
  Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "0"), tile,
                                      constant(tiles.columns));
  for (unsigned i = 0; i < plan.streamed.size(); ++i)
    if (isEarly(i) == early)
      fill(plan.streamed[i], block.streamed[i], number, first);
  // Inputs are needed with the scores.
  for (const InputTile &input : plan.inputs)
    if (auto pipe = block.inputs.find(attn::ReadOp(input.read));
        early && pipe != block.inputs.end())
      fillInput(input, pipe->second, number, first);
}

// The coordinates of a box, the axis before the last one first.
SmallVector<Value> Copies::coordinates(attn::ReadOp read, unsigned rowAxis, Value first) {
  SmallVector<Value> list;
  for (auto [axis, index] : llvm::enumerate(operandIndices(read, rowAxis)))
    if (axis == rowAxis)
      list.push_back(first);
    else if (index)
      list.push_back(narrow(index, ""));
  std::reverse(list.begin(), list.end());
  return list;
}

void Copies::fill(const OperandTile &operand, Value pipe, Value number, Value first) {
  attn::ReadOp read = operand.read;
  tile::AcquireOp::create(b, read.getLoc(), pipe, number);
  tile::FillOp::create(b, read.getLoc(), pipe, number, memory.tensorMap(read),
                       coordinates(read, operand.rowAxis, first));
}

void Copies::fillInput(const InputTile &input, Value pipe, Value number, Value column) {
  attn::ReadOp read = input.read;
  tile::AcquireOp::create(b, read.getLoc(), pipe, number);
  SmallVector<Value> at = coordinates(read, input.rowAxis, row0);
  at.insert(at.begin(), column);
  tile::FillOp::create(b, read.getLoc(), pipe, number, memory.tensorMap(read), at);
}

void buildCopies(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule,
                 const KernelSignature &signature, tile::KernelOp kernel, OpBuilder &builder,
                 const BlockPlaces &block) {
  Copies copies(nest, plan, schedule, signature, kernel, builder);
  copies.use(block);
  copies.build();
}

} // namespace attnc::schedule
