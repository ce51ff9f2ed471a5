#include "compiler/schedule/register_needs.h"
#include "compiler/transforms/split.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

class NeedsCounter {
public:
  NeedsCounter(red::NestOp nest, const StreamPlan &plan) : nest(nest), plan(plan) {}

  RegisterNeeds count() {
    for (auto map : nest.getBodyBlock()->getOps<attn::MapOp>())
      if (typeOf(map.getResult()).hasDim(plan.stream))
        countMap(map);
    for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>())
      if (isColumnVector(read)) {
        ++needs.columns;
        needs.columnWords += wordsOf(read.getResult());
      }
    for (Value result : nest.getResults())
      needs.stored += typeOf(result).hasDim(plan.row);
    if (auto parts = attn::programOf(nest)->getAttrOfType<ArrayAttr>(kPartDimsAttr))
      needs.inParts = llvm::any_of(nest.getGrid(), [&](Attribute dim) {
        return llvm::is_contained(parts.getValue(), dim);
      });
    return needs;
  }

private:
  static attn::ArrayType typeOf(Value array) { return cast<attn::ArrayType>(array.getType()); }
  bool isScores(Value array) {
    return typeOf(array).hasDim(plan.row) && typeOf(array).hasDim(plan.stream);
  }

  bool isTile(attn::ReadOp read) {
    return llvm::any_of(plan.streamed, [&](const OperandTile &o) { return o.read == read; });
  }

  bool isColumnVector(attn::ReadOp read) {
    return read.getType().hasDim(plan.stream) && !read.getType().hasDim(plan.row) && !isTile(read);
  }

  // Indices and sizes, and what is made of them, are narrowed to 32 bits (narrow_indices.h);
  // elements of a tensor are as wide as they are.
  static int64_t wordsOf(Value array) {
    auto read = array.getDefiningOp<attn::ReadOp>();
    if (!read)
      return 1;
    Type element = cast<attn::ArrayType>(read.getSource().getType()).getElementType();
    return std::max(1u, element.getIntOrFloatBitWidth() / 32);
  }

  // True if the array depends on a product of the step.
  bool isOfProducts(Value array) {
    if (auto known = ofProducts.find(array); known != ofProducts.end())
      return known->second;
    bool result = array.getDefiningOp<red::FoldOp>() != nullptr;
    if (auto map = array.getDefiningOp<attn::MapOp>())
      result = llvm::any_of(map.getOperands(), [&](Value v) { return isOfProducts(v); });
    return ofProducts[array] = result;
  }

  void countMap(attn::MapOp map) {
    for (Value operand : map.getOperands())
      if (!typeOf(operand).hasDim(plan.stream) && seen.insert(operand))
        (typeOf(operand).hasDim(plan.row) ? needs.rows : needs.uniform) += wordsOf(operand);
    for (Operation &op : *map.getYielded().getParentBlock()) {
      needs.random += isa<attn::RandOp>(op);
      if (!isScores(map.getResult()) || !isOfProducts(map, op))
        continue;
      for (Value scalar : op.getOperands())
        if (isa<FloatType>(scalar.getType()) && isTerm(map, scalar))
          countTerm(map, scalar);
    }
  }

  void countTerm(attn::MapOp map, Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    Value array = argument ? map.getOperand(argument.getArgNumber()) : scalar;
    if (!seen.insert(array))
      return;
    if (argument && array.getDefiningOp<attn::ReadOp>())
      needs.inputs += !llvm::any_of(
          plan.inputs, [&](const InputTile &i) { return i.read == array.getDefiningOp(); });
    else
      ++needs.terms;
  }

  bool isOfProducts(attn::MapOp map, Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value v) { return isOfProducts(map, v); });
  }

  bool isOfProducts(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return isOfProducts(map.getOperand(argument.getArgNumber()));
    return isOfProducts(map, *scalar.getDefiningOp());
  }

  // A number that differs from row to row and from column to column, known before the products.
  bool isTerm(attn::MapOp map, Value scalar) {
    return !isOfProducts(map, scalar) && dependsOn(map, scalar, plan.row) &&
           dependsOn(map, scalar, plan.stream);
  }

  bool dependsOn(attn::MapOp map, Value scalar, StringAttr dim) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return typeOf(map.getOperand(argument.getArgNumber())).hasDim(dim);
    return llvm::any_of(scalar.getDefiningOp()->getOperands(),
                        [&](Value v) { return dependsOn(map, v, dim); });
  }

  red::NestOp nest;
  const StreamPlan &plan;
  RegisterNeeds needs;
  llvm::SmallSetVector<Value, 8> seen; // arrays, and scalars of maps, that are counted
  llvm::DenseMap<Value, bool> ofProducts;
};

} // namespace

RegisterNeeds countRegisterNeeds(red::NestOp nest, const StreamPlan &plan) {
  return NeedsCounter(nest, plan).count();
}

} // namespace attnc::schedule
