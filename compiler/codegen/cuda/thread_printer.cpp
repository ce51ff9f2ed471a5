// Arrays of single threads, and what the lanes of a warp make of their values.
#include "compiler/codegen/cuda/kernel_printer.h"
#include "compiler/codegen/cuda/tile_text.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::cuda {

std::string KernelPrinter::elementText(Value array, ValueRange indices) {
  std::string element = tileText(array);
  for (Value index : indices)
    element += "[" + text(index) + "]";
  return element;
}

// Whether something may write to the array before the statement that has the element as its part.
bool KernelPrinter::mayChange(tile::GetOp get) {
  if (!get.getResult().hasOneUse())
    return true;
  Operation *end = get;
  for (Value value = get.getResult(); value.hasOneUse();) {
    end = *value.user_begin();
    if (end->getBlock() != get->getBlock() || end->getNumResults() != 1 ||
        !isInline(end->getResult(0)))
      break;
    value = end->getResult(0);
  }
  if (end->getBlock() != get->getBlock())
    return true;
  for (Operation *op = get->getNextNode(); op != end; op = op->getNextNode())
    if (isa<tile::SetOp, tile::BarrierOp, tile::FoldLanesOp>(op) || op->getNumRegions())
      return true;
  return false;
}

bool KernelPrinter::printThreadOp(Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::ArrayOp array) {
        comment(array.getLoc());
        tile::ArrayType type = array.getType();
        std::string declared = typeText(type.getElement()) + " " + declare(array.getResult(), "x");
        for (int64_t extent : type.getShape())
          declared += "[" + number(extent) + "]";
        line((array.getShared() ? "__shared__ __align__(16) " : "") + declared + ";");
        return true;
      })
      .Case([&](tile::SetOp set) {
        comment(set.getLoc());
        assign(elementText(set.getArray(), set.getIndices()), set.getValue());
        return true;
      })
      .Case([&](tile::FoldLanesOp fold) {
        comment(fold.getLoc());
        std::string value = text(fold.getValue());
        line("const " + typeText(fold.getType()) + " " + declare(fold.getResult(), "x") +
             " = foldLanes<" + combineText(fold.getKind()).str() + ">(" + value + ");");
        return true;
      })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::cuda
