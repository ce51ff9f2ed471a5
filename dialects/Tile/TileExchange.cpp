// The verifier of what two groups hand to each other.
#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace attnc::tile;

using Users = SmallVector<Operation *>;

// Of a tile, and of some of its rows or columns.
static void collectUsers(Value tile, Users &users) {
  for (Operation *user : tile.getUsers())
    if (isa<StripOp, ColumnsOp>(user))
      collectUsers(user->getResult(0), users);
    else
      users.push_back(user);
}

static Users usersOf(Value tile) {
  Users users;
  collectUsers(tile, users);
  return users;
}

// The first tile brings the barriers of all; each has its place once, for all tiles of the stream.
static LogicalResult verifyTypes(ExchangeOp exchange) {
  if (exchange.getMine().empty() ||
      exchange.getMine().getTypes() != exchange.getTheirs().getTypes())
    return exchange.emitOpError("hands over some tiles, of the same types both ways");
  for (Type type : exchange.getMine().getTypes())
    if (auto tile = cast<SharedType>(type);
        !tile.fitsBlock() || !(tile.isVector() || tile.hasWholePanels()))
      return exchange.emitOpError("hands over ")
             << tile << ", neither a whole tile with panels nor a vector";
  return success();
}

// The step that writes all that is handed over; null, with an error, if there is no such step.
static StepOp writerOf(ExchangeOp exchange) {
  llvm::SmallPtrSet<Operation *, 2> writers;
  for (Value tile : exchange.getMine()) {
    Users users = usersOf(tile);
    if (users.empty())
      writers.insert(nullptr);
    for (Operation *user : users) {
      if (!isa<StoreOperandOp, StoreFragmentOp, WriteVectorOp>(user)) {
        exchange.emitOpError("has tiles of the group's own that ")
            << user->getName() << " uses; they are written, and read by the other group";
        return {};
      }
      writers.insert(user->getParentOfType<StepOp>());
    }
  }
  if (writers.size() == 1 && *writers.begin())
    return cast<StepOp>(*writers.begin());
  exchange.emitOpError("is written by one tile.step, which writes each tile");
  return {};
}

// A group reads what the other one has written for the same tile, and lets go of it before it
// writes the next: each waits for the other.
static LogicalResult verifyReader(ExchangeOp exchange, Operation *user, StepOp writer) {
  if (!isa<MmaStartOp, ReadVectorOp, PeekOp, ScalePackedOp>(user))
    return exchange.emitOpError("has tiles of the other group that ")
           << user->getName() << " uses; they are read, or scaled in place";
  auto reader = user->getParentOfType<StepOp>();
  if (!reader)
    return exchange.emitOpError("is used outside of steps");
  if (!reader.runsAfter(writer))
    return exchange.emitOpError("is read by step \"")
           << reader.getName() << "\", which does not run after the one that writes, \""
           << writer.getName() << "\"";
  if (reader.getStage() != writer.getStage() && !reader.isBeforeInLoop(writer))
    return exchange.emitOpError("is read by step \"")
           << reader.getName() << "\" of the tile before when \"" << writer.getName()
           << "\" has to write the next one; order it before";
  return success();
}

LogicalResult ExchangeOp::verify() {
  auto rows = (*this)->getParentOfType<RowTilesOp>();
  if (!rows || !(*this)->getParentOfType<StreamOp>() || rows.getGroups() != 2)
    return emitOpError("belongs to a tile of a stream of two groups");
  if (failed(verifyTypes(*this)))
    return failure();
  StepOp writer = writerOf(*this);
  if (!writer)
    return failure();
  for (Value tile : getTheirs()) {
    Users users = usersOf(tile);
    if (llvm::all_of(users, [](Operation *user) { return isa<ScalePackedOp>(user); }))
      return emitOpError("hands over a tile that no step reads");
    for (Operation *user : users)
      if (failed(verifyReader(*this, user, writer)))
        return failure();
  }
  return success();
}
