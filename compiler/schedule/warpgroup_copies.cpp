#include "compiler/schedule/domain_slice.h"
#include "compiler/schedule/warpgroup_frame.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

/// One thread copies: for each row tile its resident operands, and the tiles of the stream in the
/// order in which the other warps need them. Where tiles are skipped its warp comes along, to ask
/// of many tiles at once.
class Copies : public WarpgroupFrame {
public:
  using WarpgroupFrame::WarpgroupFrame;
  void build();

private:
  void enter();
  void byOneThread(llvm::function_ref<void()> build);
  Counters copyRowTile(Counters before);
  Value copyTiles(Value shift);
  Value lastChunkFirst(Value chunk);
  Value copyLiveTiles(Counters before);
  Value entryOf(Value tile, Value bit, ArrayRef<Value> words);
  void copyListed(Counters before, Value number, Value tile, Value entry, Value tileBefore);
  void list(Counters before, Value number, Value entry);
  bool needsRowsFirst() const;
  void computeIndices();
  void fillFirst(Value tile, Counters before);
  void fillResidents(Value number);
  void draw();
  Value handOver(Value turn);
  void fill(const OperandTile &operand, Value pipe, Value number, Value first, Value column = {});
  void fillTile(unsigned streamed, Value number, Value first);
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
  enter();
  auto body = [&](Value work, Counters before) {
    locate(work);
    std::tie(firstTile, endTile) = tileRange(row0, tiles.rows);
    return copyRowTile(before);
  };
  forEachWork(body, [&](Value turn) { return handOver(turn); });
}

// Goes on in the first thread of the role, or in its first warp.
void Copies::enter() {
  Location loc = nest.getLoc();
  if (!skipsTiles()) {
    auto single = tile::SingleOp::create(b, loc);
    b.setInsertionPointToStart(&single.getBody().emplaceBlock());
    return;
  }
  Value warp = tile::WarpOp::create(b, named("warp"));
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, constant(0));
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
}

void Copies::byOneThread(llvm::function_ref<void()> build) {
  if (!skipsTiles())
    return build();
  auto single = tile::SingleOp::create(b, nest.getLoc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  build();
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
  bool alone = !skipsTiles();
  byOneThread([&] {
    if (!alone)
      draw();
    tile::AcquireOp::create(b, loc, block.queue, turn);
    tile::PutOp::create(b, loc, block.queue, turn, drawn);
  });
  if (alone)
    return drawn;
  // The other threads of the warp learn the number as those that compute do.
  tile::AwaitOp::create(b, loc, block.queue, turn);
  return tile::TakeOp::create(b, named("next"), block.queue, turn);
}

// Of operands in parts fewer may fit than a tile has, and none is released before the rows are
// there.
bool Copies::needsRowsFirst() const {
  for (unsigned i = 0; i < plan.streamed.size(); ++i)
    if (scoreParts(i) > 1)
      return true;
  return false;
}

// What the scores of the first tile of a row tile need.
void Copies::fillFirst(Value tile, Counters before) {
  if (needsRowsFirst())
    fillResidents(before.resident);
  fillStreamed(/*early=*/true, tile, before.streamed);
  if (!needsRowsFirst())
    fillResidents(before.resident);
}

void Copies::fillResidents(Value number) {
  for (auto &[read, pipe] : block.residents)
    for (const Contraction &contraction : plan.contractions)
      if (attn::ReadOp(contraction.resident.read) == read) {
        fill(contraction.resident, pipe, number, row0);
        break;
      }
}

// What subscripts of operands are computed from is known before a loop, for whoever needs it in the
// loop and after it.
void Copies::computeIndices() {
  for (const Contraction &contraction : plan.contractions)
    (void)operandIndices(contraction.resident.read, contraction.resident.rowAxis);
  for (const OperandTile &operand : plan.streamed)
    (void)operandIndices(operand.read, operand.rowAxis);
  for (const InputTile &input : plan.inputs)
    if (block.inputs.contains(attn::ReadOp(input.read)))
      (void)operandIndices(input.read, input.rowAxis);
}

// Products of scores run one tile ahead of what is summed with them.
WarpgroupFrame::Counters Copies::copyRowTile(Counters before) {
  if (skipsTiles())
    return {copyLiveTiles(before), add(before.resident, 1)};
  Value shift = b.createOrFold<arith::SubIOp>(nest.getLoc(), before.streamed, firstTile);
  fillFirst(firstTile, before);
  Value after = copyTiles(shift);
  return {after, add(before.resident, 1)};
}

// Returns the number of the tile after the row tile's last one.
Value Copies::copyTiles(Value shift) {
  Location loc = nest.getLoc();
  computeIndices();
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

// The entry of the list that belongs to tile `number` in the pipes, or to the end after the one
// before: each row tile has one entry more than tiles.
void Copies::list(Counters before, Value number, Value entry) {
  Location loc = nest.getLoc();
  Value at = add(number, before.resident, "entry");
  tile::AcquireOp::create(b, loc, block.list, at);
  tile::PutOp::create(b, loc, block.list, at, entry);
}

// What the list says of a tile: its number above bit `bit` of each of `words` (none: no bit set).
Value Copies::entryOf(Value tile, Value bit, ArrayRef<Value> words) {
  Location loc = nest.getLoc();
  Value entry = arith::MulIOp::create(b, loc, tile, constant(int64_t(1) << listBits()));
  for (auto [i, word] : llvm::enumerate(words)) {
    Value isSet = tile::HasBitOp::create(b, loc, word, bit);
    entry =
        add(entry, arith::SelectOp::create(b, loc, isSet, constant(int64_t(1) << i), constant(0)),
            "entry");
  }
  return entry;
}

// Lists and copies a tile, whose number in the pipes is `number`, as far as scores need it, and the
// one before it to the end.
void Copies::copyListed(Counters before, Value number, Value tile, Value entry, Value tileBefore) {
  Location loc = nest.getLoc();
  list(before, number, entry);
  bool rowsFirst = needsRowsFirst();
  if (!rowsFirst)
    fillStreamed(/*early=*/true, tile, number);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number, before.streamed);
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (rowsFirst)
    fillFirst(tile, before);
  else
    fillResidents(before.resident);
  b.setInsertionPointToStart(branch.elseBlock());
  if (rowsFirst)
    fillStreamed(/*early=*/true, tile, number);
  fillStreamed(/*early=*/false, tileBefore, add(number, -1, "before"));
}

// What the votes of a loop over tiles ask of the rows alone is read from memory once, before it:
// nothing that the kernel reads is written while it runs.
static void hoistFromVotes(scf::ForOp loop) {
  auto isOutside = [&](Value value, Operation *op) {
    Operation *at = value.getParentBlock()->getParentOp();
    return op->isAncestor(at) || !loop->isAncestor(at);
  };
  for (auto vote : llvm::to_vector(loop.getBody()->getOps<tile::VoteOp>()))
    for (Operation &op : llvm::make_early_inc_range(vote.getBodyBlock()->without_terminator())) {
      bool dependsOnTile =
          op.walk([&](Operation *inner) {
              return llvm::all_of(inner->getOperands(), [&](Value v) { return isOutside(v, &op); })
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
      if (!dependsOnTile)
        op.moveBefore(loop);
    }
}

// The first tile of 32, counted from the end of the range where `chunk` is counted from its
// beginning. Where data decide, votes wait for memory; of sequences that follow each other rows see
// the nearest, so that tiles at the end are computed while those before them are asked in vain.
Value Copies::lastChunkFirst(Value chunk) {
  Location loc = nest.getLoc();
  Value tiles = arith::SubIOp::create(b, loc, add(endTile, -1, "last_tile"), firstTile);
  Value before = arith::DivUIOp::create(b, loc, tiles, constant(kLanes));
  Value last =
      add(firstTile, arith::MulIOp::create(b, loc, before, constant(kLanes)), "last_chunk");
  return arith::SubIOp::create(b, named("from_end"), add(last, firstTile, "ends"), chunk);
}

// The same over the tiles that matter. A row tile to which none matters has its first one, so that
// it takes part in the rhythm of the pipes.
Value Copies::copyLiveTiles(Counters before) {
  Location loc = nest.getLoc();
  computeIndices();
  SmallVector<AskedRows> asking = askingRows();
  SmallVector<Value> init = {before.streamed, firstTile};
  auto chunks = scf::ForOp::create(b, loc, firstTile, endTile, constant(kLanes), init);
  chunks.getInductionVar().setLoc(named("chunk"));
  bool asksMemory = readsTensors(nest, liveCondition(nest));
  nameAll(chunks.getRegionIterArgs(), {"number", "tile_before"});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(chunks.getBody());
    Value chunk = asksMemory ? lastChunkFirst(chunks.getInductionVar()) : chunks.getInductionVar();
    SmallVector<Value> words = askTiles(chunk, asking);
    Value live = words.front();
    for (size_t i = 2; i < words.size(); i += 2)
      live = arith::OrIOp::create(b, named("live"), live, words[i]);
    // Where groups do not ask, whoever is listed is computed.
    ArrayRef<Value> said = ArrayRef(words).drop_front(groupsAsk() ? 0 : 1);
    SmallVector<Value> start = {chunks.getRegionIterArg(0), chunks.getRegionIterArg(1), live};
    auto isAny = [&](OpBuilder &, Location, ValueRange carried) {
      nameAll(carried, {"number", "tile_before", "live"});
      Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, carried[2], constant(0));
      scf::ConditionOp::create(b, loc, some, carried);
    };
    auto copy = [&](OpBuilder &, Location, ValueRange carried) {
      nameAll(carried, {"number", "tile_before", "live"});
      Value bit = tile::FirstBitOp::create(b, named("bit"), carried[2]);
      Value tile = add(chunk, bit, "t");
      byOneThread(
          [&] { copyListed(before, carried[0], tile, entryOf(tile, bit, said), carried[1]); });
      Value rest = tile::WithoutFirstBitOp::create(b, loc, carried[2]);
      scf::YieldOp::create(b, loc, ValueRange{add(carried[0], 1), tile, rest});
    };
    auto bits = scf::WhileOp::create(b, loc, ValueRange(start).getTypes(), start, isAny, copy);
    scf::YieldOp::create(b, loc, ValueRange(bits.getResults()).drop_back());
  }
  if (asksMemory)
    hoistFromVotes(chunks);
  Value none =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, chunks.getResult(0), before.streamed);
  Value after = arith::SelectOp::create(b, named("tiles_after"), none, add(before.streamed, 1),
                                        chunks.getResult(0));
  byOneThread([&] {
    auto branch = scf::IfOp::create(b, loc, none, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      list(before, before.streamed, entryOf(firstTile, {}, {}));
      fillFirst(firstTile, before);
    }
    list(before, after, constant(endEntry()));
    fillStreamed(/*early=*/false, chunks.getResult(1), add(after, -1, "last"));
  });
  return after;
}

void Copies::fillStreamed(bool early, Value tile, Value number) {
  Value first = arith::MulIOp::create(b, named(plan.stream.getValue().str() + "0"), tile,
                                      constant(tiles.columns));
  // Whole tiles first: they are awaited before any part is released.
  for (bool inParts : {false, true})
    for (unsigned i = 0; i < plan.streamed.size(); ++i)
      if (isEarly(i) == early && (scoreParts(i) > 1) == inParts)
        fillTile(i, number, first);
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

// `column` is the first one; null: all columns are copied.
void Copies::fill(const OperandTile &operand, Value pipe, Value number, Value first, Value column) {
  attn::ReadOp read = operand.read;
  tile::AcquireOp::create(b, read.getLoc(), pipe, number);
  SmallVector<Value> at = coordinates(read, operand.rowAxis, first);
  if (column)
    at.insert(at.begin(), column);
  tile::FillOp::create(b, read.getLoc(), pipe, number, memory.tensorMap(read), at);
}

// A tile of a streamed operand: this block's columns, or parts one after the other.
void Copies::fillTile(unsigned streamed, Value number, Value first) {
  const OperandTile &operand = plan.streamed[streamed];
  Value pipe = block.streamed[streamed];
  int64_t parts = scoreParts(streamed);
  if (parts == 1)
    return fill(operand, pipe, number, first,
                columnPart && !isEarly(streamed) ? partBegin() : Value());
  // What subscripts are computed from is known before the loop, for whoever needs it after.
  (void)operandIndices(operand.read, operand.rowAxis);
  Location loc = attn::ReadOp(operand.read).getLoc();
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(parts), constant(1));
  loop.getInductionVar().setLoc(named("part"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value part = loop.getInductionVar();
  Value of = arith::MulIOp::create(b, named("parts_before"), number, constant(parts));
  Value column = arith::MulIOp::create(b, named("depth_begin"), part, constant(operand.cols));
  fill(operand, pipe, add(of, part), first, column);
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
