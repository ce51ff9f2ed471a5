#include "compiler/schedule/steps/synchronise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {
namespace {

using Places = llvm::SetVector<Value>;

/// Products that have been started together and may not be complete.
struct Group {
  Places written, read; ///< places in registers
  Places pipes;         ///< that they read tiles of
  SmallVector<ReleaseOp> releases;
};

class Synchronisation {
public:
  explicit Synchronisation(RoleOp role) : role(role), b(role.getContext()) {}
  void visit(Block &block);

private:
  void visit(Operation &op);
  void visit(StepOp step);
  void start(StepOp step, Group group);
  void settle(Operation &before);
  void wait(size_t pending, ValueRange alsoRead = {});
  void meetBeforeReleases(StepOp step);

  RoleOp role;
  OpBuilder b;
  SmallVector<Group> unfinished;
};

bool isPlace(Value value) { return isa<FragmentType, RowsType, OperandType>(value.getType()); }

/// The pipe that a tile in shared memory, or some of its rows or columns, is a slot of.
Value pipeOf(Value tile) {
  while (Operation *op = tile.getDefiningOp()) {
    if (auto stage = dyn_cast<StageOp>(op))
      return stage.getRing();
    if (!isa<StripOp, ColumnsOp>(op))
      break;
    tile = op->getOperand(0);
  }
  return {};
}

/// The place in registers that an operand is, or some of its columns.
Value placeOf(Value operand) {
  while (auto columns = operand.getDefiningOp<ColumnsOp>())
    operand = columns.getTile();
  return isPlace(operand) ? operand : Value();
}

Group groupOf(StepOp step) {
  Group group;
  step.walk([&](MmaStartOp mma) {
    group.written.insert(mma.getC());
    if (Value place = placeOf(mma.getA()))
      group.read.insert(place);
    for (Value tile : {Value(mma.getA()), Value(mma.getB())})
      if (Value pipe = pipeOf(tile))
        group.pipes.insert(pipe);
  });
  return group;
}

/// The places from outside that an op and what is in it touch, products apart.
Places touched(Operation &op) {
  Places places;
  op.walk([&](Operation *inner) {
    if (!isa<MmaStartOp>(inner))
      for (Value value : inner->getOperands())
        if (isPlace(value) && !op.isAncestor(value.getDefiningOp()))
          places.insert(value);
  });
  return places;
}

/// True if an op lets go of a tile that the group's products may be reading. Those of a step with
/// products are for later.
bool releases(Operation &op, const Group &group) {
  return op
      .walk([&](ReleaseOp release) {
        return group.pipes.contains(release.getPipe()) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

bool intersects(const Places &x, const Places &y) {
  return llvm::any_of(x, [&](Value value) { return y.contains(value); });
}

} // namespace

void Synchronisation::visit(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(op);
}

void Synchronisation::visit(Operation &op) {
  if (auto step = dyn_cast<StepOp>(op))
    return visit(step);
  bool hasSteps = op.walk([](StepOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (!hasSteps)
    return settle(op);
  // A loop or a branch: nothing is unfinished where control parts or meets.
  b.setInsertionPoint(&op);
  wait(0);
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      visit(block);
      if (block.mightHaveTerminator())
        b.setInsertionPoint(block.getTerminator());
      else
        b.setInsertionPointToEnd(&block);
      wait(0);
    }
}

// Waits for what `op` needs, just before it.
void Synchronisation::settle(Operation &op) {
  Places places = touched(op);
  size_t needed = 0; // groups, from the first one on
  bool overwrites = false;
  for (auto [i, group] : llvm::enumerate(unfinished)) {
    bool writesOperand = intersects(places, group.read);
    if (releases(op, group) || intersects(places, group.written) || writesOperand)
      needed = i + 1;
    overwrites |= writesOperand;
  }
  if (needed == 0)
    return;
  b.setInsertionPoint(&op);
  SmallVector<Value> fragments;
  if (overwrites)
    llvm::copy_if(places, std::back_inserter(fragments),
                  [](Value value) { return isa<FragmentType>(value.getType()); });
  wait(unfinished.size() - needed, fragments);
}

// Until `pending` groups are unfinished; what they have read is free. What an operand is computed
// from that they have read stays behind the wait, too.
void Synchronisation::wait(size_t pending, ValueRange alsoRead) {
  if (unfinished.size() <= pending)
    return;
  Places settled;
  size_t complete = unfinished.size() - pending;
  SmallVector<ReleaseOp> releases;
  for (Group &group : llvm::make_range(unfinished.begin(), unfinished.begin() + complete)) {
    settled.insert(group.written.begin(), group.written.end());
    llvm::append_range(releases, group.releases);
  }
  for (Group &group : llvm::make_range(unfinished.begin() + complete, unfinished.end()))
    settled.remove_if([&](Value place) { return group.written.contains(place); });
  settled.insert(alsoRead.begin(), alsoRead.end());
  MmaWaitOp::create(b, role.getLoc(), b.getI64IntegerAttr(pending), settled.getArrayRef());
  for (ReleaseOp release : releases)
    release->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  unfinished.erase(unfinished.begin(), unfinished.begin() + complete);
}

void Synchronisation::visit(StepOp step) {
  Group group = groupOf(step);
  if (group.written.empty()) {
    settle(*step);
    meetBeforeReleases(step);
  } else {
    start(step, std::move(group));
  }
  step->replaceAllUsesWith(step.getYield()->getOperands());
  for (Operation &op : llvm::make_early_inc_range(step.getBodyBlock()->without_terminator()))
    op.moveBefore(step);
  b.setInsertionPointAfter(step);
  if (step.getPending())
    wait(*step.getPending());
  step.erase();
}

void Synchronisation::start(StepOp step, Group group) {
  Block *body = step.getBodyBlock();
  auto products = llvm::to_vector(body->getOps<MmaStartOp>());
  b.setInsertionPointToStart(body);
  for (Operation &op : *body) // behind waits, which loop: ptxas would add a fence
    if (isa<AwaitOp, PublishOp, BarrierSyncOp>(op))
      b.setInsertionPointAfter(&op);
  MmaFenceOp::create(b, step.getLoc());
  b.setInsertionPointAfter(products.back());
  MmaCommitOp::create(b, step.getLoc());
  llvm::append_range(group.releases, body->getOps<ReleaseOp>());
  unfinished.push_back(std::move(group));
}

// One lane of a warp releases what all its lanes have read.
void Synchronisation::meetBeforeReleases(StepOp step) {
  llvm::SmallPtrSet<Value, 4> read;
  step.walk([&](StageOp stage) { read.insert(stage.getRing()); });
  for (auto release : step.getBodyBlock()->getOps<ReleaseOp>())
    if (read.contains(release.getPipe())) {
      b.setInsertionPoint(release);
      WarpSyncOp::create(b, step.getLoc());
      return;
    }
}

void synchronise(KernelOp kernel) {
  for (RoleOp role : kernel.getBodyBlock()->getOps<RoleOp>())
    Synchronisation(role).visit(*role.getBodyBlock());
}

} // namespace attnc::schedule
