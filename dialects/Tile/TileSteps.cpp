// Verifiers of the ops of a row tile's work before it is divided among roles.
#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace attnc;
using namespace attnc::tile;

static bool hasArguments(Block *block, ArrayRef<unsigned> widths) {
  return llvm::equal(block->getArgumentTypes(), widths,
                     [](Type type, unsigned width) { return type.isInteger(width); });
}

LogicalResult RowTilesOp::verify() {
  if (!(*this)->getParentOfType<KernelOp>())
    return emitOpError("belongs to a kernel");
  if (!hasArguments(getBodyBlock(), {32, 32}))
    return emitOpError("has a block with the row tile's number and turn");
  if (getCounter() && !getPersistent())
    return emitOpError("draws row tiles for blocks that take one");
  if (getGroups() < 1 || getGroups() > 4)
    return emitOpError("has ") << getGroups() << " groups that compute; it can be 1 to 4";
  auto streams = getBodyBlock()->getOps<StreamOp>();
  if (streams.empty() || std::next(streams.begin()) != streams.end())
    return emitOpError("has one tile.stream, directly in its block");
  return success();
}

LogicalResult StreamOp::verify() {
  if (!(*this)->getParentOfType<RowTilesOp>())
    return emitOpError("belongs to the work of a row tile");
  SmallVector<unsigned> widths = {32, 32, 1};
  if (isListed())
    widths.push_back(1);
  if (!hasArguments(getBodyBlock(), widths))
    return emitOpError("has a block with the tile's number, that in the pipes, whether it is the "
                       "first, and of a list whether it is full");
  if (!getAsk().empty() && !(isListed() && hasArguments(&getAsk().front(), {32}) &&
                             isa<YieldOp>(getAsk().front().getTerminator())))
    return emitOpError("asks without entry_bits, or not of the tiles from a number on");
  if (!getOwnFirst() != !getOwnEnd())
    return emitOpError("has one end of its own range without the other");
  return success();
}

LogicalResult FetchOp::verify() {
  if (!(*this)->getParentOfType<RowTilesOp>())
    return emitOpError("belongs to the work of a row tile");
  if (getStage() > 1)
    return emitOpError("is of stage ") << getStage() << "; it can be 0 or 1";
  if (getStages() < 1 || getParts() < 1 || getParts() > 64)
    return emitOpError("has ") << getStages() << " stages and " << getParts() << " parts";
  if (getParts() > 1)
    for (Operation *user : getResult().getUsers())
      if (!isa<PartOp>(user))
        return emitOpError("is fetched in parts and used whole");
  for (Operation *user : getResult().getUsers())
    if (!user->getParentOfType<StepOp>())
      return emitOpError("is used outside of steps");
  return success();
}

LogicalResult PartOp::verify() {
  auto fetch = getTile().getDefiningOp<FetchOp>();
  if (!fetch || getNumber() >= fetch.getParts())
    return emitOpError("is not one of the parts of a tile.fetch");
  return success();
}

LogicalResult StepOp::verify() {
  if (getStage() > 1)
    return emitOpError("is of stage ") << getStage() << "; it can be 0 or 1";
  auto yield = dyn_cast<YieldOp>(getBodyBlock()->getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("yields one value for each of its results");
  return success();
}
