#include "compiler/driver/images/code_size.h"
#include "compiler/schedule/cleanup/element_loops.h"

using namespace mlir;

namespace attnc::driver {

using schedule::elementsOfThread;

// Instructions beside an mma, with which its operands are loaded; f32 operands are split, and their
// product is three.
static constexpr int64_t kForProduct = 2, kForSplitProduct = 10;
// Halves of an f32 operand are made once for all rows of a warp: four loads, and six instructions
// for each pair of elements (mma_halves.cuh).
static constexpr int64_t kForHalves = 16;

static int64_t productCode(tile::MmaOp mma) {
  auto c = cast<tile::FragmentType>(mma.getC().getType());
  auto b = cast<tile::SharedType>(mma.getB().getType());
  int64_t depth = mma.getTransposed() ? b.getCols() : b.getRows();
  const tile::ElementType &element = tile::elementType(b.getElement());
  if (mma.getHalves())
    return c.getCols() / 8 * (depth / 16) * (kForHalves + c.getRows() / 16 * 3);
  int64_t products = c.getRows() / 16 * (c.getCols() / 8) * (depth / element.depth());
  return products * (element.isSplit ? kForSplitProduct : kForProduct);
}

namespace {

/// How often each value of a map is computed: for each element, for each row, or once.
class MapCode {
public:
  explicit MapCode(tile::MapOp map) : map(map) {
    Type type = map.getOuts().front().getType();
    int64_t elements = elementsOfThread(type);
    auto fragment = dyn_cast<tile::FragmentType>(type);
    for (BlockArgument argument : map.getBodyBlock()->getArguments())
      copies[argument] = elements;
    if (fragment)
      copies[map.rowIndex()] = fragment.getRows() / 8;
  }

  int64_t size() {
    int64_t sum = 0;
    map.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      int64_t most = 1;
      for (Value operand : op->getOperands())
        if (auto known = copies.find(operand); known != copies.end())
          most = std::max(most, known->second);
      for (Value result : op->getResults())
        copies[result] = most;
      sum += most;
    });
    return sum;
  }

private:
  tile::MapOp map;
  DenseMap<Value, int64_t> copies;
};

} // namespace

int64_t estimateCode(tile::KernelOp kernel) {
  int64_t size = 0;
  kernel.walk([&](Operation *op) {
    if (auto mma = dyn_cast<tile::MmaOp>(op)) {
      size += productCode(mma);
      return;
    }
    if (auto map = dyn_cast<tile::MapOp>(op))
      size += MapCode(map).size();
    if (isa<tile::MapOp>(op) || op->getParentOfType<tile::MapOp>())
      return;
    int64_t widest = 1;
    for (Type type : op->getOperandTypes())
      widest = std::max(widest, elementsOfThread(type));
    size += widest;
  });
  return size;
}

} // namespace attnc::driver
