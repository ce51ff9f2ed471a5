#include "compiler/schedule/stream/differences.h"
#include "compiler/schedule/stream/difference_analysis.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

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
  Outliner(attn::MapOp map, DifferenceAnalysis &analysis)
      : map(map), analysis(analysis), operands(map.getOperands()) {}

  void run() {
    SmallVector<Value> scalars;
    for (Operation &op : map.getBodyBlock()->without_terminator())
      if (isLargest(op.getResult(0)))
        scalars.push_back(op.getResult(0));
    if (scalars.empty())
      return;
    OpBuilder b(map);
    for (Value scalar : scalars) {
      operands.push_back(outline(b, scalar));
      scalar.replaceAllUsesWith(map.getBodyBlock()->addArgument(scalar.getType(), scalar.getLoc()));
    }
    eraseUnused();
    map->setOperands(operands);
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

  // A map of the operands that the scalar is computed from.
  Value outline(OpBuilder &b, Value scalar) {
    llvm::SetVector<Value> slice, arguments;
    slice.insert(scalar);
    for (size_t i = 0; i < slice.size(); ++i)
      if (auto argument = dyn_cast<BlockArgument>(slice[i]))
        arguments.insert(argument);
      else
        slice.insert(slice[i].getDefiningOp()->operand_begin(),
                     slice[i].getDefiningOp()->operand_end());
    SmallVector<Value> arrays;
    for (Value argument : arguments)
      arrays.push_back(operands[cast<BlockArgument>(argument).getArgNumber()]);
    auto part = attn::MapOp::create(b, scalar.getLoc(), typeOf(arrays, scalar.getType()), arrays);
    IRMapping mapping;
    mapping.map(arguments.getArrayRef(), part.getBodyBlock()->getArguments());
    OpBuilder inside = OpBuilder::atBlockEnd(part.getBodyBlock());
    for (Operation &op : map.getBodyBlock()->without_terminator())
      if (slice.contains(op.getResult(0)))
        inside.clone(op, mapping);
    attn::YieldOp::create(inside, scalar.getLoc(), mapping.lookup(scalar));
    return part.getResult();
  }

  // With the dims of the whole map's result, in its order, that one of the arrays has.
  attn::ArrayType typeOf(ArrayRef<Value> arrays, Type element) {
    SmallVector<StringAttr> dims;
    for (StringAttr dim : cast<attn::ArrayType>(map.getResult().getType()).getDims())
      if (llvm::any_of(arrays, [&](Value array) {
            return cast<attn::ArrayType>(array.getType()).hasDim(dim);
          }))
        dims.push_back(dim);
    return attn::ArrayType::get(map.getContext(), dims, element);
  }

  // What the parts alone are computed from.
  void eraseUnused() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*map.getBodyBlock())))
      if (!isa<attn::YieldOp>(op) && op.use_empty())
        op.erase();
    for (unsigned i = operands.size(); i-- > 0;)
      if (map.getBodyBlock()->getArgument(i).use_empty()) {
        map.getBodyBlock()->eraseArgument(i);
        operands.erase(operands.begin() + i);
      }
  }

  attn::MapOp map;
  DifferenceAnalysis &analysis;
  SmallVector<Value> operands; ///< of the map as it will be
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
