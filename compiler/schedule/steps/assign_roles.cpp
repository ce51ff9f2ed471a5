#include "compiler/schedule/steps/assign_roles.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {
namespace {

constexpr int64_t kWarps = 4; // of a warpgroup

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
    rows.erase();
  }

private:
  void createPipes();
  void enterCopies();
  void createProducer();
  void createConsumers();
  RowTilesOp cloneRows();
  StepOp fill(FetchOp fetch, Value pipe);
  void use(FetchOp fetch, Value pipe);
  void stageIn(StepOp step, ArrayRef<Value> tiles, FetchOp fetch, Value pipe, Value number);
  Value number(FetchOp fetch, Value part);
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, kernel.getLoc(), b.getI32IntegerAttr(value));
  }

  KernelOp kernel;
  RowTilesOp rows;
  OpBuilder b;
  SmallVector<Value> pipes; ///< of the fetches, in their order
  Value queue;              ///< of numbers of row tiles; null where they are not drawn
  Value list;               ///< of the stream's tiles that matter; null where all do
};

StreamOp streamOf(RowTilesOp rows) { return *rows.getBodyBlock()->getOps<StreamOp>().begin(); }

SmallVector<FetchOp> fetchesOf(RowTilesOp rows) {
  SmallVector<FetchOp> list;
  rows.walk([&](FetchOp fetch) { list.push_back(fetch); });
  return list;
}

} // namespace

void Roles::createPipes() {
  int64_t users = kWarps * rows.getGroups();
  for (FetchOp fetch : fetchesOf(rows)) {
    auto type = PipeType::get(b.getContext(), fetch.getStages(), fetch.getType());
    std::string name = attn::specName(fetch.getLoc()).str() + "_pipe";
    pipes.push_back(PipeOp::create(b, attn::renamed(fetch.getLoc(), name), type, 0, 0, users));
  }
  SmallVector<Value> all = pipes;
  if (rows.getCounter()) {
    queue = PipeOp::create(b, NameLoc::get(b.getStringAttr("queue")), queueType(b.getContext()), 0,
                           0, users, /*writers=*/1);
    all.push_back(queue);
  }
  if (streamOf(rows).isListed()) {
    list = PipeOp::create(b, NameLoc::get(b.getStringAttr("list")), blockListType(b.getContext()),
                          0, 0, users, /*writers=*/1);
    all.push_back(list);
  }
  StartPipesOp::create(b, kernel.getLoc(), all);
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

// One thread copies; where tiles are asked for, its warp comes along, to ask of many at once.
void Roles::enterCopies() {
  Location loc = kernel.getLoc();
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
                             b.getI64IntegerAttr(kWarps), rows.getProducerRegistersAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&role.getBody().emplaceBlock());
  enterCopies();
  RowTilesOp clone = cloneRows();
  clone.setPingPong(false);
  streamOf(clone).getOwnFirstMutable().clear(); // it copies for all groups
  streamOf(clone).getOwnEndMutable().clear();
  llvm::SmallPtrSet<Operation *, 8> fills;
  for (auto [fetch, pipe] : llvm::zip_equal(fetchesOf(clone), pipes))
    fills.insert(fill(fetch, pipe));
  // What is left of the others' work is scalars that coordinates are computed from.
  eraseUnused(*clone.getBodyBlock(),
              [&](Operation *op) { return fills.contains(op) || isa<StreamOp>(op); });
}

// The number of a tile in its pipe: `part` of `parts`, null where it is whole.
Value Roles::number(FetchOp fetch, Value part) {
  auto stream = fetch->getParentOfType<StreamOp>();
  Value tile = stream ? stream.getNumber() : fetch->getParentOfType<RowTilesOp>().getTurn();
  if (!part)
    return tile;
  auto named = [&](StringRef name) { return NameLoc::get(b.getStringAttr(name)); };
  Value before = arith::MulIOp::create(b, named("parts_before"), tile,
                                       constant(static_cast<int64_t>(fetch.getParts())));
  return arith::AddIOp::create(b, named("part"), before, part);
}

// Behind the fetch, what one thread does in its place.
StepOp Roles::fill(FetchOp fetch, Value pipe) {
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
  SmallVector<Value> at = llvm::to_vector(fetch.getCoordinates());
  Value part;
  if (fetch.getParts() > 1) {
    auto loop = scf::ForOp::create(b, loc, constant(0),
                                   constant(static_cast<int64_t>(fetch.getParts())), constant(1));
    loop.getInductionVar().setLoc(NameLoc::get(b.getStringAttr("part")));
    part = loop.getInductionVar();
    b.setInsertionPointToStart(loop.getBody());
    Value column = arith::MulIOp::create(b, NameLoc::get(b.getStringAttr("depth_begin")), part,
                                         constant(fetch.getType().getCols()));
    at.insert(at.begin(), column);
  } else if (fetch.getLate() && !stream) {
    // In the stream, for the first tile alone.
    stream = streamOf(fetch->getParentOfType<RowTilesOp>());
    step->moveBefore(stream.getBodyBlock(), stream.getBodyBlock()->end());
    auto isFirst = scf::IfOp::create(b, loc, stream.getIsFirst(), /*withElseRegion=*/false);
    b.setInsertionPointToStart(isFirst.thenBlock());
    step.setOrder(2);
  } else if (list && !stream) {
    auto single = SingleOp::create(b, loc);
    b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  }
  Value tile = number(fetch, part);
  AcquireOp::create(b, loc, pipe, tile);
  FillOp::create(b, loc, pipe, tile, fetch.getMap(), at);
  return step;
}

//===----------------------------------------------------------------------===//
// The role that computes
//===----------------------------------------------------------------------===//

void Roles::createConsumers() {
  int64_t warps = kWarps * rows.getGroups();
  auto role =
      RoleOp::create(b, kernel.getLoc(), b.getStringAttr("compute"), b.getI64IntegerAttr(kWarps),
                     b.getI64IntegerAttr(warps), rows.getConsumerRegistersAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&role.getBody().emplaceBlock());
  RowTilesOp clone = cloneRows();
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
  SmallVector<FetchOp> fetches = fetchesOf(clone);
  // Each puts itself before what others have put there.
  for (auto [fetch, pipe] : llvm::reverse(llvm::zip_equal(fetches, pipes)))
    use(fetch, pipe);
  eraseUnused(*clone.getBodyBlock(),
              [](Operation *op) { return !isa<FetchOp>(op) && !isOpTriviallyDead(op); });
  // The group is the same for all row tiles.
  for (auto group : llvm::make_early_inc_range(clone.getBodyBlock()->getOps<GroupOp>()))
    group->moveBefore(clone);
  while (Operation *behind = rows->getNextNode())
    behind->moveBefore(role.getBodyBlock(), role.getBodyBlock()->end());
}

// The steps that use a tile, in the order in which they run for one tile.
static SmallVector<StepOp> stepsThatUse(ArrayRef<Value> tiles) {
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
void Roles::stageIn(StepOp step, ArrayRef<Value> tiles, FetchOp fetch, Value pipe, Value number) {
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
  Value stage = StageOp::create(b, fetch.getLoc(), fetch.getType(), pipe, number);
  for (Value tile : tiles)
    tile.replaceUsesWithIf(stage, isHere);
}

void Roles::use(FetchOp fetch, Value pipe) {
  Location loc = fetch.getLoc();
  auto stream = fetch->getParentOfType<StreamOp>();
  OpBuilder::InsertionGuard guard(b);
  for (int64_t part = fetch.getParts() - 1; part >= 0; --part) {
    auto numberHere = [&] {
      return number(fetch, fetch.getParts() > 1 ? constant(part) : Value());
    };
    SmallVector<Value> tiles = tilesOf(fetch, part);
    SmallVector<StepOp> steps = stepsThatUse(tiles);
    for (StepOp step : steps) {
      b.setInsertionPointToStart(step.getBodyBlock());
      Value at = numberHere();
      if (stream && step == steps.front())
        AwaitOp::create(b, loc, pipe, at);
      stageIn(step, tiles, fetch, pipe, at);
      if (stream && step == steps.back()) {
        auto others = step.getBodyBlock()->getOps<ReleaseOp>();
        b.setInsertionPoint(others.empty() ? step.getYield() : (*others.begin()).getOperation());
        ReleaseOp::create(b, loc, pipe, at);
      }
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
  AwaitOp::create(b, loc, pipe, number(fetch, {}));
  b.setInsertionPointToEnd(stream.getBodyBlock());
  ReleaseOp::create(b, loc, pipe, number(fetch, {}));
}

void assignRoles(KernelOp kernel) {
  if (!kernel.getBodyBlock()->getOps<RowTilesOp>().empty())
    Roles(kernel).assign();
}

} // namespace attnc::schedule
