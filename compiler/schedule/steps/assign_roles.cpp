#include "compiler/schedule/steps/assign_roles.h"
#include "compiler/schedule/steps/fetch_order.h"
#include "compiler/schedule/steps/partial_sums.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {
namespace {

/// A place of each group, or one for all of them.
using Places = SmallVector<Value, 2>;

class Roles {
public:
  explicit Roles(KernelOp kernel)
      : kernel(kernel), rows(*kernel.getBodyBlock()->getOps<RowTilesOp>().begin()),
        b(kernel.getContext()) {}

  void assign() {
    b.setInsertionPoint(rows);
    createPipes();
    createProducer();
    createConsumers();
    createAdder();
    b.setInsertionPointAfter(rows);
    partials.end(b);
    rows.erase();
  }

private:
  void createPipes();
  Places pipesOf(FetchOp fetch);
  Places exchangedPlaces(Location loc, SharedType type, bool isFirst);
  void enterCopies();
  void createProducer();
  void createConsumers();
  void createAdder();
  RowTilesOp cloneRows();
  Value ofGroup(const Places &places, Value group);
  StepOp fill(FetchOp fetch, const Places &places);
  void copy(FetchOp fetch, Value pipe, Value part);
  void copyRows(FetchOp fetch, Value pipe, Value tile);
  void await(Location loc, Value pipe, Value number);
  void use(FetchOp fetch, Value pipe);
  void useBehindStream(FetchOp fetch, Value pipe);
  void use(ExchangeOp exchange, ArrayRef<Places> places, Value group);
  void write(StepOp step, Value tile, Value pipe, Value number);
  void awaitAndRelease(Location loc, ArrayRef<StepOp> steps, Value pipe,
                       llvm::function_ref<Value()> numberHere,
                       llvm::function_ref<void(StepOp, Value)> stage);
  void stageIn(StepOp step, ArrayRef<Value> tiles, Value pipe, Value number);
  Value number(FetchOp fetch, Value part);
  Value numberInRing(FetchOp fetch, StreamOp stream);
  Value runNumber(RowTilesOp of);
  Value isEndOfRun(RowTilesOp of, Value number);
  void atBeginOfRun(RowTilesOp of);
  void releaseAtEndOfRun(FetchOp fetch, Value pipe, Value run);
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, kernel.getLoc(), b.getI32IntegerAttr(value));
  }
  Location named(const llvm::Twine &name) { return NameLoc::get(b.getStringAttr(name)); }

  KernelOp kernel;
  RowTilesOp rows;
  OpBuilder b;
  SmallVector<Places> pipes;                  ///< of the fetches, in their order
  SmallVector<SmallVector<Places>> exchanged; ///< of the tiles of each exchange
  SmallVector<Value> handed;                  ///< pipes of what is handed over, in its order
  PartialSums partials;
  Places rings; ///< the first pipe of each group's ring
  Value queue;  ///< of numbers of row tiles; null where they are not drawn
  Value list;   ///< of the stream's tiles that matter; null where all do
  bool isByGroup = false;
  bool isByRows = false; ///< all warps of the role copy some tiles
  Value copier; ///< i32, where groups have fetches of their own: the group that a warp copies for
};

StreamOp streamOf(RowTilesOp rows) { return *rows.getBodyBlock()->getOps<StreamOp>().begin(); }

template <class Op> SmallVector<Op> opsOf(RowTilesOp rows) {
  SmallVector<Op> list;
  rows.walk([&](Op op) { list.push_back(op); });
  return list;
}

SmallVector<FetchOp> fetchesOf(RowTilesOp rows) { return opsOf<FetchOp>(rows); }

/// The steps that use a tile, in the order in which they run for one tile.
SmallVector<StepOp> stepsThatUse(ArrayRef<Value> tiles) {
  llvm::SetVector<Operation *> steps;
  for (Value tile : tiles)
    for (Operation *user : tile.getUsers())
      steps.insert(user->getParentOfType<StepOp>());
  auto list = llvm::map_to_vector(steps, [](Operation *op) { return cast<StepOp>(op); });
  llvm::sort(list, [](StepOp x, StepOp y) {
    auto key = [](StepOp op) { return std::pair(op.getStage(), op.getOrder()); };
    return key(x) != key(y) ? key(x) < key(y) : x->isBeforeInBlock(y);
  });
  return list;
}

/// True if steps of the group that adds use the tile.
bool isAdded(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation *user) {
    auto step = user->getParentOfType<StepOp>();
    return step && step.getAdds();
  });
}

/// Leaves the steps of the group that adds, or the others.
void keepSteps(RowTilesOp rows, bool areAdding) {
  for (StepOp step : llvm::make_early_inc_range(streamOf(rows).getBodyBlock()->getOps<StepOp>()))
    if (step.getAdds() != areAdding)
      step.erase();
}

bool isForFinish(FetchOp fetch) {
  return llvm::none_of(fetch->getUsers(),
                       [](Operation *user) { return user->getParentOfType<StepOp>(); });
}

} // namespace

// The fetches in a ring share its slots, which have the size of the largest tile.
Places Roles::pipesOf(FetchOp fetch) {
  for (auto [other, places] : llvm::zip(fetchesOf(rows), pipes))
    if (other.getInRing() && fetch.getInRing() && other.getType() == fetch.getType())
      return places;
  int64_t adding = isAdded(fetch.getResult()) ? kGroupWarps : 0;
  std::string name = attn::specName(fetch.getLoc()).str() + "_pipe";
  int64_t slot = llvm::alignTo(fetch.getType().getBytes(), kSwizzleBytes);
  if (fetch.getInRing())
    for (FetchOp other : fetchesOf(rows))
      if (other.getInRing())
        slot = std::max(slot, other.getType().getBytes());
  auto type = PipeType::get(b.getContext(), fetch.getStages(), fetch.getType(), slot);
  int64_t groups = rows.getGroups(), count = fetch.getByGroup() ? groups : 1;
  Places places;
  for (int64_t group = 0; group < count; ++group) {
    bool isIn = fetch.getInRing() && static_cast<int64_t>(rings.size()) == count;
    std::string suffix = count > 1 ? std::to_string(group) : "";
    places.push_back(PipeOp::create(b, attn::renamed(fetch.getLoc(), name + suffix), type, 0, 0,
                                    kGroupWarps * groups / count + adding,
                                    fetch.isByRows() ? kGroupWarps : 0, fetch.isByRows(),
                                    isIn ? rings[group] : Value()));
  }
  if (fetch.getInRing() && rings.empty())
    rings = places;
  return places;
}

// What each group hands to the other: the first tile is a pipe, whose barriers guard the others
// too.
Places Roles::exchangedPlaces(Location loc, SharedType type, bool isFirst) {
  Places places;
  for (uint64_t group = 0; group < rows.getGroups(); ++group) {
    Location at = attn::renamed(loc, attn::specName(loc).str() + std::to_string(group));
    if (isFirst)
      places.push_back(PipeOp::create(b, at, PipeType::get(b.getContext(), 1, type), 0, 0,
                                      /*users=*/kGroupWarps, /*writers=*/kGroupWarps,
                                      /*copied=*/false, Value()));
    else
      places.push_back(SharedOp::create(b, at, type, b.getI64IntegerAttr(0)));
  }
  return places;
}

void Roles::createPipes() {
  int64_t users = kGroupWarps * rows.getGroups();
  SmallVector<Value> all;
  for (FetchOp fetch : fetchesOf(rows)) {
    pipes.push_back(pipesOf(fetch));
    isByGroup |= fetch.getByGroup();
    isByRows |= fetch.isByRows();
    bool isNew =
        !fetch.getInRing() || (pipes.back() == rings && !llvm::is_contained(all, rings[0]));
    if (isNew) // a ring is started once
      llvm::append_range(all, pipes.back());
  }
  for (ExchangeOp exchange : opsOf<ExchangeOp>(rows)) {
    exchanged.emplace_back();
    for (Value tile : exchange.getMine())
      exchanged.back().push_back(exchangedPlaces(tile.getLoc(), cast<SharedType>(tile.getType()),
                                                 tile == exchange.getMine().front()));
    llvm::append_range(all, exchanged.back().front());
  }
  for (HandOverOp tile : opsOf<HandOverOp>(rows)) {
    auto type = PipeType::get(b.getContext(), tile.getStages(), tile.getResult().getType());
    handed.push_back(PipeOp::create(b, attn::renamed(tile.getLoc(), "handed_pipe"), type, 0, 0,
                                    /*users=*/kGroupWarps, /*writers=*/users, /*copied=*/false,
                                    /*ring=*/Value()));
    all.push_back(handed.back());
  }
  auto numbers = [&](StringRef name, PipeType type) {
    all.push_back(PipeOp::create(b, named(name), type, 0, 0, users, /*writers=*/1, /*copied=*/false,
                                 /*ring=*/Value()));
    return all.back();
  };
  if (rows.getCounter())
    queue = numbers("queue", queueType(b.getContext()));
  if (streamOf(rows).isListed())
    list = numbers("list", blockListType(b.getContext()));
  partials.place(b, rows);
  StartPipesOp::create(b, kernel.getLoc(), all);
  partials.start(b);
}

Value Roles::ofGroup(const Places &places, Value group) {
  return places.size() == 1
             ? places.front()
             : ChooseOp::create(b, places.front().getLoc(), places.front().getType(), group, places)
                   .getResult();
}

RowTilesOp Roles::cloneRows() {
  auto clone = cast<RowTilesOp>(b.clone(*rows));
  if (queue)
    clone.getQueueMutable().assign(queue);
  if (list)
    streamOf(clone).getBlockListMutable().assign(list);
  return clone;
}

// What nobody uses, from the last op to the first, also among what is done with a tile.
static void eraseUnused(Block &block, llvm::function_ref<bool(Operation *)> isKept) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (auto stream = dyn_cast<StreamOp>(op))
      eraseUnused(*stream.getBodyBlock(), isKept);
    if (!isKept(&op) && op.use_empty())
      op.erase();
  }
}

//===----------------------------------------------------------------------===//
// The role that copies
//===----------------------------------------------------------------------===//

// One thread copies; where tiles are asked for, its warp comes along, to ask of many at once. Where
// groups have fetches of their own, one thread of a warp for each of them. All threads copy where a
// tile comes row by row, and all warps ask; one thread copies what comes as a box.
void Roles::enterCopies() {
  Location loc = kernel.getLoc();
  if (isByRows)
    return;
  if (isByGroup) {
    copier = WarpOp::create(b, named("warp"), b.getI32Type(), /*uniform=*/true);
    Value copies = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, copier,
                                         constant(static_cast<int64_t>(rows.getGroups())));
    auto branch = scf::IfOp::create(b, loc, copies, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    auto single = SingleOp::create(b, loc, b.getUnitAttr());
    b.setInsertionPointToStart(&single.getBody().emplaceBlock());
    return;
  }
  if (!list) {
    auto single = SingleOp::create(b, loc);
    b.setInsertionPointToStart(&single.getBody().emplaceBlock());
    return;
  }
  Value warp = WarpOp::create(b, NameLoc::get(b.getStringAttr("warp")));
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, constant(0));
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
}

void Roles::createProducer() {
  auto role = RoleOp::create(b, kernel.getLoc(), b.getStringAttr("load"), b.getI64IntegerAttr(0),
                             b.getI64IntegerAttr(kGroupWarps), rows.getProducerRegistersAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&role.getBody().emplaceBlock());
  enterCopies();
  RowTilesOp clone = cloneRows();
  clone.setPingPong(false);
  streamOf(clone).getOwnFirstMutable().clear(); // it copies for all groups
  streamOf(clone).getOwnEndMutable().clear();
  for (GroupOp group : opsOf<GroupOp>(clone))
    if (isByGroup)
      group.replaceAllUsesWith(copier);
  llvm::SmallPtrSet<Operation *, 8> fills;
  for (auto [fetch, places] : llvm::zip_equal(fetchesOf(clone), pipes))
    fills.insert(fill(fetch, places));
  // What is left of the others' work is scalars that coordinates are computed from.
  eraseUnused(*clone.getBodyBlock(),
              [&](Operation *op) { return fills.contains(op) || isa<StreamOp>(op); });
}

// The number in its ring of the first part of a tile. In each iteration fetches follow each other
// by order, those of stage 1 for the tile before; there are none of these in the first iteration,
// and none but these in the last.
Value Roles::numberInRing(FetchOp fetch, StreamOp stream) {
  auto countParts = [&](auto &&counts) {
    int64_t parts = 0;
    for (FetchOp other : stream.getBodyBlock()->getOps<FetchOp>())
      if (other.getInRing() && counts(other))
        parts += static_cast<int64_t>(other.getParts());
    return parts;
  };
  auto isBefore = [&](FetchOp other) {
    return other.getOrder() != fetch.getOrder() ? other.getOrder() < fetch.getOrder()
                                                : other->isBeforeInBlock(fetch);
  };
  auto inStage = [&](uint64_t stage) {
    return [=](FetchOp other) { return other.getStage() == stage; };
  };
  auto besides = [&](FetchOp other) { return other.getStage() != fetch.getStage(); };
  int64_t all = countParts([](FetchOp) { return true; }), others = countParts(besides);
  int64_t same = countParts(
      [&](FetchOp other) { return isBefore(other) && other.getStage() == fetch.getStage(); });
  int64_t beside = countParts([&](FetchOp other) { return isBefore(other) && besides(other); });
  Location loc = fetch.getLoc();
  bool isLater = fetch.getStage() == 1;
  // Where the other stage has its usual place, and in the iteration where it has none.
  int64_t usual = isLater ? countParts(inStage(0)) + same + beside : same + beside - others;
  int64_t alone = isLater ? countParts(inStage(0)) + same : same;
  Value offset = arith::SelectOp::create(b, loc, isLater ? stream.getIsLast() : stream.getIsFirst(),
                                         constant(alone), constant(usual));
  Value before = arith::MulIOp::create(b, named("ring_before"), stream.getNumber(), constant(all));
  return arith::AddIOp::create(b, named("in_ring"), before, offset);
}

// Runs that the block has begun before the one at hand.
Value Roles::runNumber(RowTilesOp of) {
  Location loc = of.getLoc();
  Value before = arith::DivUIOp::create(b, loc, of.getFirst(), of.getRun());
  Value now = arith::DivUIOp::create(b, loc, of.getNumber(), of.getRun());
  return arith::SubIOp::create(b, named("run_number"), now, before);
}

// i1: a run ends where the row tile `number` begins.
Value Roles::isEndOfRun(RowTilesOp of, Value number) {
  Location loc = of.getLoc();
  Value inRun = arith::RemUIOp::create(b, loc, number, of.getRun());
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, inRun, constant(0));
}

// The number of a tile in its pipe: `part` of `parts`, null where it is whole.
Value Roles::number(FetchOp fetch, Value part) {
  auto stream = fetch->getParentOfType<StreamOp>();
  if (fetch.getOfRun())
    return runNumber(fetch->getParentOfType<RowTilesOp>());
  Value tile = stream ? stream.getNumber() : fetch->getParentOfType<RowTilesOp>().getTurn();
  if (!part && !fetch.getInRing())
    return tile;
  Value before = fetch.getInRing()
                     ? numberInRing(fetch, stream)
                     : arith::MulIOp::create(b, named("parts_before"), tile,
                                             constant(static_cast<int64_t>(fetch.getParts())))
                           .getResult();
  return part ? arith::AddIOp::create(b, named("part"), before, part).getResult() : before;
}

// Goes on in a branch for the first row tile of a run, or of the block.
void Roles::atBeginOfRun(RowTilesOp of) {
  Location loc = of.getLoc();
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, of.getTurn(), constant(0));
  Value begins = arith::OrIOp::create(b, loc, isFirst, isEndOfRun(of, of.getNumber()));
  auto branch = scf::IfOp::create(b, loc, begins, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
}

// Behind the fetch, what one thread does in its place.
StepOp Roles::fill(FetchOp fetch, const Places &places) {
  Location loc = fetch.getLoc();
  auto stream = fetch->getParentOfType<StreamOp>();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(fetch);
  auto step = StepOp::create(b, loc, TypeRange(), attn::specName(loc),
                             static_cast<int64_t>(fetch.getStage()));
  step.setOrder(fetch.getOrder());
  b.setInsertionPointToStart(&step.getBody().emplaceBlock());
  auto yield = YieldOp::create(b, loc, ValueRange());
  b.setInsertionPoint(yield);
  Value pipe = ofGroup(places, copier);
  Value part;
  if (fetch.getParts() > 1) {
    auto loop = scf::ForOp::create(b, loc, constant(0),
                                   constant(static_cast<int64_t>(fetch.getParts())), constant(1));
    part = loop.getInductionVar();
    part.setLoc(named("part"));
    b.setInsertionPointToStart(loop.getBody());
  } else if (!stream && isForFinish(fetch)) {
    // Behind all that the last tile needs: whoever copies is not to wait for the finish before.
    stream = streamOf(fetch->getParentOfType<RowTilesOp>());
    step->moveBefore(stream.getBodyBlock(), stream.getBodyBlock()->end());
    auto isLast = scf::IfOp::create(b, loc, stream.getIsLast(), /*withElseRegion=*/false);
    b.setInsertionPointToStart(isLast.thenBlock());
    step.setStage(1);
    step.setOrder(kBehindFetches);
  } else if (fetch.getLate() && !stream) {
    // In the stream, for the first tile alone.
    stream = streamOf(fetch->getParentOfType<RowTilesOp>());
    step->moveBefore(stream.getBodyBlock(), stream.getBodyBlock()->end());
    auto isFirst = scf::IfOp::create(b, loc, stream.getIsFirst(), /*withElseRegion=*/false);
    b.setInsertionPointToStart(isFirst.thenBlock());
    step.setOrder(kInputs);
    if (fetch.getOfRun())
      atBeginOfRun(fetch->getParentOfType<RowTilesOp>());
  } else if (list && !stream && !isByRows) {
    auto single = SingleOp::create(b, loc);
    b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  }
  // What all groups use, one warp copies.
  if (isByGroup && !fetch.getByGroup()) {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, copier, constant(0));
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  copy(fetch, pipe, part);
  return step;
}

// A tile, or `part` of it if that is not null.
void Roles::copy(FetchOp fetch, Value pipe, Value part) {
  SmallVector<Value> at = llvm::to_vector(fetch.getCoordinates());
  if (part) {
    SharedType type = fetch.getType();
    int64_t extent = fetch.getAlong() == 0 ? type.getCols() : type.getRows();
    Value begin = b.createOrFold<arith::MulIOp>(named("part_begin"), part, constant(extent));
    Value &along = at[fetch.getAlong()];
    along = b.createOrFold<arith::AddIOp>(named("part_begin"), begin, along);
  }
  Value tile = number(fetch, part);
  if (fetch.isByRows())
    return copyRows(fetch, pipe, tile);
  if (isByRows) {
    auto single = SingleOp::create(b, fetch.getLoc());
    b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  }
  AcquireOp::create(b, fetch.getLoc(), pipe, tile);
  FillOp::create(b, fetch.getLoc(), pipe, tile, fetch.getTensor(), at);
}

void Roles::copyRows(FetchOp fetch, Value pipe, Value tile) {
  Location loc = fetch.getLoc();
  AcquireOp::create(b, loc, pipe, tile);
  Value into = StageOp::create(b, loc, fetch.getType(), pipe, tile);
  auto copy = CopyRowsOp::create(b, loc, fetch.getTensor(), fetch.getCoordinates().front(), into,
                                 /*vector_bytes=*/16, fetch.getRun());
  copy.getBody().takeBody(fetch.getRows());
  CompleteOp::create(b, loc, pipe, tile);
}

// What threads have copied, products see only when it is published.
void Roles::await(Location loc, Value pipe, Value number) {
  AwaitOp::create(b, loc, pipe, number);
  if (auto op = pipe.getDefiningOp<PipeOp>(); op && op.getCopied())
    PublishOp::create(b, loc);
}

//===----------------------------------------------------------------------===//
// The role that adds
//===----------------------------------------------------------------------===//

// A further warpgroup, which takes the tiles that the groups hand over.
void Roles::createAdder() {
  if (rows.getAdderRegisters() == 0)
    return;
  auto first = static_cast<int64_t>(kGroupWarps * (rows.getGroups() + 1));
  auto role = RoleOp::create(b, kernel.getLoc(), b.getStringAttr("add"), b.getI64IntegerAttr(first),
                             b.getI64IntegerAttr(kGroupWarps), rows.getAdderRegistersAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&role.getBody().emplaceBlock());
  RowTilesOp clone = cloneRows();
  clone.setPingPong(false);
  keepSteps(clone, /*areAdding=*/true);
  StreamOp stream = streamOf(clone);
  for (auto [tile, pipe] : llvm::zip_equal(opsOf<HandOverOp>(clone), handed)) {
    SmallVector<StepOp> steps = stepsThatUse(tile.getResult());
    awaitAndRelease(
        tile.getLoc(), steps, pipe, [&]() -> Value { return stream.getNumber(); },
        [&](StepOp step, Value at) { stageIn(step, tile.getResult(), pipe, at); });
  }
  SmallVector<FetchOp> fetches = fetchesOf(clone);
  for (auto [fetch, places] : llvm::reverse(llvm::zip_equal(fetches, pipes)))
    if (isAdded(fetch.getResult())) {
      b.setInsertionPoint(clone);
      use(fetch, places.front());
    }
  eraseUnused(*clone.getBodyBlock(), [](Operation *op) {
    return isa<StreamOp, StepOp, AwaitOp, ReleaseOp, PublishOp>(op);
  });
  b.setInsertionPointToEnd(role.getBodyBlock());
  auto single = SingleOp::create(b, kernel.getLoc(), b.getUnitAttr());
  b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  StoreWaitOp::create(b, kernel.getLoc(), b.getI64IntegerAttr(0), b.getUnitAttr());
}

//===----------------------------------------------------------------------===//
// The role that computes
//===----------------------------------------------------------------------===//

void Roles::createConsumers() {
  int64_t warps = kGroupWarps * rows.getGroups();
  auto role = RoleOp::create(b, kernel.getLoc(), b.getStringAttr("compute"),
                             b.getI64IntegerAttr(kGroupWarps), b.getI64IntegerAttr(warps),
                             rows.getConsumerRegistersAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&role.getBody().emplaceBlock());
  RowTilesOp clone = cloneRows();
  keepSteps(clone, /*areAdding=*/false);
  clone.getCounterMutable().clear();
  if (StreamOp stream = streamOf(clone); list) { // which tiles there are, the list says
    stream.getAsk().dropAllReferences();
    stream.getAsk().getBlocks().clear();
    OpBuilder::InsertionGuard atStream(b);
    b.setInsertionPoint(stream);
    Value none = constant(0);
    stream.getFirstMutable().assign(none);
    stream.getEndMutable().assign(none);
  }
  SmallVector<GroupOp> groups = opsOf<GroupOp>(clone);
  // The group is the same for all row tiles.
  for (GroupOp group : groups)
    group->moveBefore(clone);
  SmallVector<FetchOp> fetches = fetchesOf(clone);
  for (auto [tile, pipe] : llvm::zip_equal(opsOf<HandOverOp>(clone), handed))
    write(stepsThatUse(tile.getResult()).front(), tile.getResult(), pipe,
          streamOf(clone).getNumber());
  // Each puts itself before what others have put there.
  SmallVector<ExchangeOp> exchanges = opsOf<ExchangeOp>(clone);
  for (auto [exchange, places] : llvm::reverse(llvm::zip_equal(exchanges, exchanged))) {
    b.setInsertionPoint(clone);
    use(exchange, places, groups.front());
    exchange.erase();
  }
  partials.assign(b, clone);
  for (auto [fetch, places] : llvm::reverse(llvm::zip_equal(fetches, pipes))) {
    b.setInsertionPoint(clone);
    use(fetch, ofGroup(places, isByGroup ? groups.front() : Value()));
  }
  eraseUnused(*clone.getBodyBlock(), [](Operation *op) {
    return !isa<FetchOp, HandOverOp>(op) && !isOpTriviallyDead(op);
  });
  while (Operation *behind = rows->getNextNode())
    behind->moveBefore(role.getBodyBlock(), role.getBodyBlock()->end());
}

// The tiles that stand for a part of a fetch: its result, where it has one part.
static SmallVector<Value> tilesOf(FetchOp fetch, int64_t part) {
  if (fetch.getParts() == 1)
    return {fetch.getResult()};
  SmallVector<Value> tiles;
  for (Operation *user : fetch->getUsers())
    if (auto op = cast<PartOp>(user); static_cast<int64_t>(op.getNumber()) == part)
      tiles.push_back(op.getResult());
  return tiles;
}

// The tile that lies in slot `number` of the pipe takes the place of those that stand for it in the
// step, before the first op that uses one of them.
void Roles::stageIn(StepOp step, ArrayRef<Value> tiles, Value pipe, Value number) {
  auto isHere = [&](OpOperand &use) { return step->isProperAncestor(use.getOwner()); };
  Operation *first = step.getYield();
  for (Value tile : tiles)
    for (OpOperand &use : tile.getUses())
      if (isHere(use))
        if (Operation *user = step.getBodyBlock()->findAncestorOpInBlock(*use.getOwner());
            user->isBeforeInBlock(first))
          first = user;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(first);
  Value stage = StageOp::create(b, tiles.front().getLoc(), tiles.front().getType(), pipe, number);
  for (Value tile : tiles)
    tile.replaceUsesWithIf(stage, isHere);
}

// The first of the steps awaits the tile of the pipe, the last one releases it; each has `stage`
// put it where it is used.
void Roles::awaitAndRelease(Location loc, ArrayRef<StepOp> steps, Value pipe,
                            llvm::function_ref<Value()> numberHere,
                            llvm::function_ref<void(StepOp, Value)> stage) {
  for (StepOp step : steps) {
    b.setInsertionPointToStart(step.getBodyBlock());
    Value at = numberHere();
    if (step == steps.front())
      await(loc, pipe, at);
    stage(step, at);
    if (step == steps.back()) {
      auto others = step.getBodyBlock()->getOps<ReleaseOp>();
      b.setInsertionPoint(others.empty() ? step.getYield() : (*others.begin()).getOperation());
      ReleaseOp::create(b, loc, pipe, at);
    }
  }
}

// Before what the step writes the slot has to be free; behind it other groups may see it.
void Roles::write(StepOp step, Value tile, Value pipe, Value number) {
  Location loc = tile.getLoc();
  b.setInsertionPointToStart(step.getBodyBlock());
  AcquireOp::create(b, loc, pipe, number);
  b.setInsertionPoint(step.getYield());
  PublishOp::create(b, loc);
  CompleteOp::create(b, loc, pipe, number);
  stageIn(step, tile, pipe, number);
}

void Roles::use(ExchangeOp exchange, ArrayRef<Places> places, Value group) {
  Location loc = exchange.getLoc();
  Value number = exchange->getParentOfType<StreamOp>().getNumber();
  Value peer = arith::SubIOp::create(b, named("peer"), constant(1), group);
  auto own = llvm::map_to_vector(places, [&](const Places &of) { return ofGroup(of, group); });
  auto other = llvm::map_to_vector(places, [&](const Places &of) { return ofGroup(of, peer); });
  OpBuilder::InsertionGuard guard(b);
  SmallVector<StepOp> readers = stepsThatUse(SmallVector<Value>(exchange.getTheirs()));
  write(stepsThatUse(SmallVector<Value>(exchange.getMine())).front(), exchange.getMine().front(),
        own.front(), number);
  awaitAndRelease(
      loc, readers, other.front(), [&] { return number; },
      [&](StepOp step, Value at) {
        stageIn(step, exchange.getTheirs().front(), other.front(), at);
      });
  for (size_t i = 1; i < places.size(); ++i) {
    exchange.getMine()[i].replaceAllUsesWith(own[i]);
    exchange.getTheirs()[i].replaceAllUsesWith(other[i]);
  }
}

// Awaited before the first op behind the stream that reads it, released behind the last one.
void Roles::useBehindStream(FetchOp fetch, Value pipe) {
  Location loc = fetch.getLoc();
  Block *block = fetch->getBlock();
  SmallVector<Operation *> uses = llvm::to_vector(fetch->getUsers());
  assert(!uses.empty() && "an input of the finish that nothing reads");
  for (size_t i = 0; i < uses.size(); ++i) // strips are read in its place
    if (isa<StripOp>(uses[i]))
      llvm::append_range(uses, uses[i]->getUsers());
  for (Operation *&use : uses)
    use = block->findAncestorOpInBlock(*use);
  auto isEarlier = [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); };
  auto [firstUse, lastUse] = std::minmax_element(uses.begin(), uses.end(), isEarlier);
  Operation *first = *firstUse, *last = *lastUse;
  if (isa<MmaStartOp>(last)) // products read it until they have been waited for
    last = &*std::find_if(last->getIterator(), block->end(),
                          [](Operation &op) { return isa<MmaWaitOp>(op); });
  Value turn = number(fetch, {});
  b.setInsertionPoint(first);
  await(loc, pipe, turn);
  Value tile = StageOp::create(b, loc, fetch.getType(), pipe, turn);
  fetch.getResult().replaceAllUsesWith(tile);
  b.setInsertionPointAfter(last);
  WarpSyncOp::create(b, loc); // one lane releases what all have read
  ReleaseOp::create(b, loc, pipe, turn);
}

void Roles::use(FetchOp fetch, Value pipe) {
  Location loc = fetch.getLoc();
  auto stream = fetch->getParentOfType<StreamOp>();
  OpBuilder::InsertionGuard guard(b);
  if (!stream && isForFinish(fetch))
    return useBehindStream(fetch, pipe);
  Value run;
  if (fetch.getOfRun()) {
    b.setInsertionPoint(streamOf(fetch->getParentOfType<RowTilesOp>()));
    run = number(fetch, {});
  }
  for (int64_t part = fetch.getParts() - 1; part >= 0; --part) {
    auto numberHere = [&] {
      return run ? run : number(fetch, fetch.getParts() > 1 ? constant(part) : Value());
    };
    SmallVector<Value> tiles = tilesOf(fetch, part);
    SmallVector<StepOp> steps = stepsThatUse(tiles);
    auto stage = [&](StepOp step, Value at) { stageIn(step, tiles, pipe, at); };
    if (stream)
      awaitAndRelease(loc, steps, pipe, numberHere, stage);
    else
      for (StepOp step : steps) {
        b.setInsertionPointToStart(step.getBodyBlock());
        stage(step, numberHere());
      }
    for (Value tile : tiles)
      if (auto op = tile.getDefiningOp<PartOp>())
        op.erase();
  }
  if (stream)
    return;
  // What rows need is there for all tiles of the stream.
  stream = streamOf(fetch->getParentOfType<RowTilesOp>());
  b.setInsertionPoint(stream);
  await(loc, pipe, run ? run : number(fetch, {}));
  if (run)
    return releaseAtEndOfRun(fetch, pipe, run);
  b.setInsertionPointToEnd(stream.getBodyBlock());
  ReleaseOp::create(b, loc, pipe, number(fetch, {}));
}

// Behind the stream of a row tile that another run follows.
void Roles::releaseAtEndOfRun(FetchOp fetch, Value pipe, Value run) {
  Location loc = fetch.getLoc();
  auto of = fetch->getParentOfType<RowTilesOp>();
  b.setInsertionPointAfter(streamOf(of));
  Value next = arith::AddIOp::create(b, loc, of.getNumber(), constant(1));
  auto branch = scf::IfOp::create(b, loc, isEndOfRun(of, next), /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  WarpSyncOp::create(b, loc); // one lane releases what all have read
  ReleaseOp::create(b, loc, pipe, run);
}

void assignRoles(KernelOp kernel) {
  if (!kernel.getBodyBlock()->getOps<RowTilesOp>().empty())
    Roles(kernel).assign();
}

} // namespace attnc::schedule
