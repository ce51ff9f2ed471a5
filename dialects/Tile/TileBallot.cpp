// Verifier of what all lanes of a warp answer together.
#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace attnc::tile;

LogicalResult BallotOp::verify() {
  if ((*this)->getParentOfType<SingleOp>())
    return emitOpError("is for whole warps and stands in a tile.single");
  auto yield = dyn_cast<YieldOp>(getBodyBlock()->getTerminator());
  if (!yield || yield.getValues().size() != getWords().size() ||
      !llvm::all_of(yield.getValues(), [](Value v) { return v.getType().isInteger(1); }))
    return emitOpError("yields one i1 for each of its words");
  if (getBodyBlock()->getNumArguments() != 1 ||
      !getBodyBlock()->getArgument(0).getType().isInteger(32))
    return emitOpError("has a block with the number of the lane");
  return success();
}
