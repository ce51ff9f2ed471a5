// Random numbers of a tile's elements, four of which one computation gives.
#include "compiler/codegen/cuda/kernel_printer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc::cuda {
namespace {

bool isConstantMultiple(Value value, int64_t factor) {
  IntegerAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.getInt() % factor == 0;
}

// Proven by its form: begins of tiles are numbers of tiles times their columns.
bool isMultipleOf(Value value, int64_t factor) {
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return isMultipleOf(sum.getLhs(), factor) && isMultipleOf(sum.getRhs(), factor);
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    return isMultipleOf(product.getLhs(), factor) || isMultipleOf(product.getRhs(), factor);
  return isConstantMultiple(value, factor);
}

bool isIndex(Value value, BlockArgument index) {
  auto extended = value.getDefiningOp<arith::ExtSIOp>();
  return extended && extended.getIn() == index;
}

bool isOutside(Value value, tile::MapOp map) {
  return value.getParentBlock() != map.getBodyBlock();
}

} // namespace

// Whether lanes have all numbers of the blocks that they compute: LaneUniforms.
static bool isOfLanes(attn::RandOp random, tile::MapOp map) {
  auto fragment = dyn_cast<tile::FragmentType>(map.getOuts().front().getType());
  return fragment && fragment.getCols() % 16 == 0 && isMultipleOf(map.getCols(), 16) &&
         isIndex(random.getZ(), map.rowIndex()) && isIndex(random.getColumn(), map.columnIndex()) &&
         llvm::all_of(ValueRange{random.getSeed(), random.getX(), random.getY()},
                      [&](Value index) { return isOutside(index, map); });
}

void KernelPrinter::declareLaneRandoms(tile::MapOp map) {
  laneRandoms.clear();
  for (auto random : map.getBodyBlock()->getOps<attn::RandOp>())
    if (isOfLanes(random, map)) {
      std::string name = names.unique("uniforms");
      line("LaneUniforms " + name + ";");
      laneRandoms[random] = name;
    }
}

// The comparison of a number with a limit for all elements, where that is all that is asked of it.
static arith::CmpFOp comparisonOf(attn::RandOp random) {
  if (!random.getResult().hasOneUse())
    return {};
  auto compare = dyn_cast<arith::CmpFOp>(*random->user_begin());
  auto map = random->getParentOfType<tile::MapOp>();
  bool isBelow = compare && compare.getPredicate() == arith::CmpFPredicate::OLT &&
                 compare.getLhs() == random.getResult();
  return isBelow && isOutside(compare.getRhs(), map) ? compare : arith::CmpFOp();
}

// Statements of their own: an element computes what the next ones have use for.
void KernelPrinter::printLaneRandom(attn::RandOp random, StringRef element) {
  std::string arguments = element.str();
  for (Value operand : random->getOperands())
    arguments += ", " + text(operand);
  std::string numbers = laneRandoms.lookup(random);
  if (arith::CmpFOp compare = comparisonOf(random)) {
    std::string value = numbers + ".nextIsBelow(" + text(compare.getRhs()) + ", " + arguments + ")";
    line("const bool " + declare(compare.getResult(), "below") + " = " + value + ";");
  } else {
    std::string value = numbers + ".next(" + arguments + ")";
    line("const f32 " + declare(random.getResult(), "random") + " = " + value + ";");
  }
}

} // namespace attnc::cuda
