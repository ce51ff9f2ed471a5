#include "compiler/transforms/order_nests.h"
#include "dialects/Red/Red.h"

using namespace mlir;

namespace attnc {

static bool streamsSequence(red::NestOp nest) {
  return llvm::any_of(nest.getStream().getAsRange<StringAttr>(), [&](StringAttr dim) {
    return !attn::programOf(nest).lookupDim(dim).isStatic();
  });
}

// The nest that is the first to use a result, or null.
static red::NestOp firstReader(red::NestOp nest) {
  Operation *first = nullptr;
  for (Operation *user : nest->getUsers()) {
    Operation *reader = nest->getBlock()->findAncestorOpInBlock(*user);
    if (!first || reader->isBeforeInBlock(first))
      first = reader;
  }
  return dyn_cast_if_present<red::NestOp>(first);
}

static bool isAnySmall(red::NestOp from, red::NestOp to) {
  for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode())
    if (auto nest = dyn_cast<red::NestOp>(op); nest && !streamsSequence(nest))
      return true;
  return false;
}

void orderNests(attn::ProgramOp program) {
  SmallVector<red::NestOp> nests(program.getBodyBlock()->getOps<red::NestOp>());
  for (red::NestOp nest : llvm::reverse(nests)) {
    red::NestOp reader = streamsSequence(nest) ? firstReader(nest) : red::NestOp();
    if (reader && isAnySmall(nest, reader))
      nest->moveBefore(reader);
  }
}

} // namespace attnc
