// Verifiers of the ops of single threads.
#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace attnc::tile;

int64_t ArrayType::getNumElements() const {
  int64_t count = 1;
  for (int64_t extent : getShape())
    count *= extent;
  return count;
}

LogicalResult ArrayOp::verify() {
  if (llvm::any_of(getType().getShape(), [](int64_t extent) { return extent < 1; }))
    return emitOpError("has an extent that is not positive");
  return success();
}

static LogicalResult verifyElement(Operation *op, ArrayType array, ValueRange indices, Type type) {
  if (indices.size() != array.getShape().size())
    return op->emitOpError("has ") << indices.size() << " indices for " << array;
  if (type != array.getElement())
    return op->emitOpError("is of an element of type ") << type << " in " << array;
  return success();
}

LogicalResult GetOp::verify() {
  return verifyElement(*this, getArray().getType(), getIndices(), getResult().getType());
}

LogicalResult SetOp::verify() {
  return verifyElement(*this, getArray().getType(), getIndices(), getValue().getType());
}

LogicalResult FoldLanesOp::verify() {
  if (getValue().getType() != getResult().getType())
    return emitOpError("has a result of another type");
  return success();
}
