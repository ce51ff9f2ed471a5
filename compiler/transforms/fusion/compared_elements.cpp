#include "compiler/transforms/fusion/compared_elements.h"
#include "compiler/transforms/fusion/eliminate_common.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "dialects/Attn/ScalarProperties.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

constexpr StringRef kComparedAttr = "attn.compared";

/// Follows an extremum to where it is compared.
class Comparisons {
public:
  explicit Comparisons(FoldOp extremum) : extremum(extremum) { followArray(extremum); }

  SmallVector<ElementComparison> found;

private:
  void followArray(Value array) {
    for (OpOperand &use : array.getUses())
      if (auto read = dyn_cast<ReadOp>(use.getOwner()); read && use.get() == read.getSource())
        followArray(read.getResult());
      else if (auto map = dyn_cast<MapOp>(use.getOwner()))
        followScalar(map, map.getBodyBlock()->getArgument(use.getOperandNumber()),
                     cast<attn::ArrayType>(array.getType()));
  }

  void followScalar(MapOp map, Value scalar, attn::ArrayType rows) {
    if (!seen.insert(scalar).second)
      return;
    for (OpOperand &use : scalar.getUses()) {
      Operation *user = use.getOwner();
      if (auto compare = dyn_cast<arith::CmpFOp>(user)) {
        unsigned other = 1 - use.getOperandNumber();
        if (variesBeside(map, compare->getOperand(other), rows))
          found.push_back({extremum, map, compare, other});
      } else if (isa<YieldOp>(user)) {
        followArray(map.getResult());
      } else if (keepsDigits(use)) {
        followScalar(map, user->getResult(0), rows);
      }
    }
  }

  static bool keepsDigits(OpOperand &use) {
    Operation *op = use.getOwner();
    return isa<arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp>(op) ||
           (isa<arith::SelectOp>(op) && use.getOperandNumber() > 0);
  }

  /// True if `scalar` has a dim that the rows of the extremum lack.
  static bool variesBeside(MapOp map, Value scalar, attn::ArrayType rows) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return llvm::any_of(
          cast<attn::ArrayType>(map.getOperand(argument.getArgNumber()).getType()).getDims(),
          [&](StringAttr dim) { return !rows.hasDim(dim); });
    return llvm::any_of(scalar.getDefiningOp()->getOperands(),
                        [&](Value operand) { return variesBeside(map, operand, rows); });
  }

  FoldOp extremum;
  llvm::SmallDenseSet<Value> seen;
};

} // namespace

SmallVector<ElementComparison> elementComparisons(ProgramOp program) {
  SmallVector<ElementComparison> all;
  for (auto fold : program.getBodyBlock()->getOps<FoldOp>())
    if (fold.getKind() == FoldKind::Max || fold.getKind() == FoldKind::Min)
      llvm::append_range(all, Comparisons(fold).found);
  return all;
}

/// The elements as an array of their own, which the map has as an operand.
static void outlineElement(ElementComparison comparison) {
  auto [extremum, map, compare, element] = comparison;
  Value scalar = compare->getOperand(element);
  if (isa<BlockArgument>(scalar))
    return;
  OpBuilder b(map);
  Value array = subexpression(b, map, scalar);
  unsigned position = map->getNumOperands();
  map->insertOperands(position, array);
  scalar.replaceAllUsesWith(map.getBodyBlock()->addArgument(scalar.getType(), scalar.getLoc()));
}

static Value elementsOf(ElementComparison comparison) {
  auto argument = cast<BlockArgument>(comparison.compare->getOperand(comparison.element));
  return comparison.map.getOperand(argument.getArgNumber());
}

void markComparedElements(ProgramOp program) {
  for (ElementComparison comparison : elementComparisons(program))
    outlineElement(comparison);
  eliminateCommon(program);
  for (ElementComparison comparison : elementComparisons(program)) {
    setComparedElement(elementsOf(comparison));
    setComparedElement(comparison.extremum.getFactors().front());
  }
}

bool isComparedElement(Value array) {
  auto map = array.getDefiningOp<MapOp>();
  return map && map->hasAttr(kComparedAttr);
}

void setComparedElement(Value array) {
  if (Operation *op = array.getDefiningOp(); isa_and_nonnull<MapOp, FoldOp>(op))
    op->setAttr(kComparedAttr, UnitAttr::get(op->getContext()));
}

static void makeExact(Operation *op) { op->setAttr(kExactAttr, UnitAttr::get(op->getContext())); }

void makeComparedElementsExact(ProgramOp program) {
  llvm::SetVector<Operation *> makers;
  program->walk([&](Operation *op) {
    if (op->removeAttr(kComparedAttr))
      makers.insert(op);
  });
  for (size_t i = 0; i < makers.size(); ++i) {
    if (auto map = dyn_cast<MapOp>(makers[i]))
      llvm::for_each(map.getBodyBlock()->without_terminator(),
                     [](Operation &op) { makeExact(&op); });
    else
      makeExact(makers[i]);
    for (Value operand : makers[i]->getOperands())
      if (Operation *maker = operand.getDefiningOp(); isa_and_nonnull<MapOp, FoldOp>(maker))
        makers.insert(maker);
  }
}

} // namespace attnc
