#include "compiler/schedule/stream/differences.h"
#include "compiler/schedule/nest/map_parts.h"
#include "compiler/schedule/stream/difference_analysis.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

attn::ArrayType typeOf(Value array) { return cast<attn::ArrayType>(array.getType()); }

/// The arrays of a nest that are worth a table, which has numbers.
class Arrays {
public:
  explicit Arrays(DifferenceAnalysis &analysis) : analysis(analysis) {}

  bool areWorthATable(Value array) {
    return typeOf(array).getElementType().isF32() && analysis.isOfDifference(array) &&
           analysis.costOf(array).isWorthATable();
  }

  bool isLargest(Value array) {
    return areWorthATable(array) && llvm::any_of(array.getUsers(), [&](Operation *user) {
             return !isa<attn::MapOp, attn::ReadOp>(user) || !areWorthATable(user->getResult(0));
           });
  }

private:
  DifferenceAnalysis &analysis;
};

/// The scalars of a map that are worth a table, but for those that an operand is.
class Outliner {
public:
  Outliner(attn::MapOp map, DifferenceAnalysis &analysis) : map(map), analysis(analysis) {}

  void run() {
    SmallVector<Value> scalars;
    for (Operation &op : map.getBodyBlock()->without_terminator())
      if (isLargest(op.getResult(0)))
        scalars.push_back(op.getResult(0));
    if (scalars.empty())
      return;
    OpBuilder b(map);
    for (Value scalar : scalars) {
      Value array = arrayOf(b, map, scalar);
      scalar.replaceAllUsesWith(addOperand(map, array));
    }
    eraseUnused(map);
  }

private:
  bool isWorthATable(Value scalar) {
    return scalar.getType().isF32() && analysis.isOfDifference(map, scalar) &&
           analysis.costOf(map, scalar).isWorthATable();
  }

  bool isLargest(Value scalar) {
    return isWorthATable(scalar) && llvm::any_of(scalar.getUsers(), [&](Operation *user) {
             return user->getNumResults() == 0 || !isWorthATable(user->getResult(0));
           });
  }

  attn::MapOp map;
  DifferenceAnalysis &analysis;
};

} // namespace

SmallVector<Difference> planDifferences(red::NestOp nest, const StreamPlan &plan) {
  DifferenceAnalysis analysis(nest, plan.row, plan.stream);
  Arrays arrays(analysis);
  SmallVector<Difference> found;
  for (Operation &op : nest.getBodyBlock()->without_terminator())
    if (isa<attn::ReadOp, attn::MapOp>(op) && arrays.isLargest(op.getResult(0)))
      found.push_back({op.getResult(0), analysis.costOf(op.getResult(0)).all});
  return found;
}

void outlineDifferences(red::NestOp nest) {
  if (nest.getRow().size() != 1 || nest.getStream().size() != 1)
    return;
  auto row = cast<StringAttr>(nest.getRow()[0]), stream = cast<StringAttr>(nest.getStream()[0]);
  for (auto map : llvm::to_vector(nest.getBodyBlock()->getOps<attn::MapOp>())) {
    DifferenceAnalysis analysis(nest, row, stream);
    if (!analysis.isOfDifference(map.getResult()))
      Outliner(map, analysis).run();
  }
}

} // namespace attnc::schedule
