#include "compiler/schedule/stream/register_needs.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "compiler/transforms/split.h"
#include "dialects/Tile/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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
      else
        countQuotients(map);
    for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>())
      if (isColumnVector(read) && !isAskedOfLanes(read))
        needs.columns.push_back({read, wordsOf(read.getResult()), isOnlyCompared(read)});
    for (StreamState state : plan.states)
      needs.moments += bool(state.fold.getBase());
    if (Value live = liveCondition(nest))
      for (Operation *op : domainSlice(nest, live))
        if (auto extreme = dyn_cast<red::ExtremeOp>(op))
          needs.asked +=
              wordsOf(cast<attn::ArrayType>(extreme.getArray().getType()).getElementType());
    needs.masked = nest.getDomainBlock() != nullptr;
    needs.inParts = llvm::any_of(attn::dimNames(nest.getGrid()), [&](StringAttr dim) {
      return isPartDim(attn::programOf(nest), dim);
    });
    return needs;
  }

private:
  static attn::ArrayType typeOf(Value array) { return cast<attn::ArrayType>(array.getType()); }
  bool isScores(Value array) {
    return typeOf(array).hasDim(plan.row) && typeOf(array).hasDim(plan.stream);
  }

  bool hasInnerDim(Value array) {
    return llvm::any_of(typeOf(array).getDims(),
                        [&](Attribute dim) { return llvm::is_contained(nest.getInner(), dim); });
  }

  bool isTile(attn::ReadOp read) {
    return llvm::any_of(plan.streamed,
                        [&](const OperandTile &o) { return o.tensorRead() == read; });
  }

  bool isColumnVector(attn::ReadOp read) {
    return read.getType().hasDim(plan.stream) && !read.getType().hasDim(plan.row) &&
           !isTile(read) && feedsScores(read);
  }

  // False of what only says where other tensors are read.
  bool feedsScores(Value array) {
    return llvm::any_of(array.getUsers(), [&](Operation *user) {
      auto map = dyn_cast<attn::MapOp>(user);
      return isa<red::FoldOp>(user) ||
             (map && (isScores(map.getResult()) || feedsScores(map.getResult())));
    });
  }

  // True if elements only decide conditions of columns, for which lanes ask (lane_conditions.h).
  bool isAskedOfLanes(Value array) {
    if (auto known = askedOfLanes.find(array); known != askedOfLanes.end())
      return known->second;
    return askedOfLanes[array] = allUsesIn(array, [&](attn::MapOp map, Value scalar) {
             return decidesConditions(map, scalar);
           });
  }

  bool decidesConditions(attn::MapOp map, Value scalar) {
    if (auto known = askedOfLanes.find(scalar); known != askedOfLanes.end())
      return known->second;
    bool decides = llvm::all_of(scalar.getUsers(), [&](Operation *user) {
      if (isa<attn::YieldOp>(user))
        return !isScores(map.getResult()) && isAskedOfLanes(map.getResult());
      Value result = user->getResult(0);
      bool isOfColumn = !(dependence(map, result) & ~kStream) && !isa<attn::RandOp>(user);
      return isOfColumn && (result.getType().isInteger(1) || decidesConditions(map, result));
    });
    return askedOfLanes[scalar] = decides;
  }

  // True if elements are operands of comparisons, as they are.
  static bool isOnlyCompared(Value array) {
    return allUsesIn(array, [](attn::MapOp, Value scalar) {
      return llvm::all_of(scalar.getUsers(),
                          [](Operation *user) { return isa<arith::CmpIOp, arith::CmpFOp>(user); });
    });
  }

  // True if `holds` of the scalars of maps that are the array's elements; what they say of where
  // other arrays are read does not count.
  static bool allUsesIn(Value array, llvm::function_ref<bool(attn::MapOp, Value)> holds) {
    return llvm::all_of(array.getUsers(), [&](Operation *user) {
      if (isa<attn::ReadOp>(user))
        return true;
      auto map = dyn_cast<attn::MapOp>(user);
      return map && llvm::all_of(llvm::enumerate(map.getOperands()), [&](auto operand) {
               return operand.value() != array ||
                      holds(map, map.getBodyBlock()->getArgument(operand.index()));
             });
    });
  }

  // Indices and sizes, and what is made of them, are narrowed to 32 bits (narrow_indices.h);
  // elements of a tensor are as wide as they are.
  static int64_t wordsOf(Value array) {
    auto read = array.getDefiningOp<attn::ReadOp>();
    if (!read)
      return 1;
    return wordsOf(cast<attn::ArrayType>(read.getSource().getType()).getElementType());
  }

  static int64_t wordsOf(Type element) {
    return std::max<int64_t>(1, tile::elementType(element).bytes / 4);
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
      if (!typeOf(operand).hasDim(plan.stream) && !typeOf(operand).hasDim(plan.row) &&
          seen.insert(operand))
        needs.uniform += wordsOf(operand);
    for (Operation &op : *map.getYielded().getParentBlock()) {
      needs.random += isa<attn::RandOp>(op);
      countRows(map, op);
      if (!isScores(map.getResult()) || !(operandDependence(map, op) & kProducts))
        continue;
      // A number that differs from row to row and from column to column, known before the products.
      for (Value scalar : op.getOperands())
        if (isa<FloatType>(scalar.getType()) && isTerm(map, scalar))
          countTerm(map, scalar);
    }
  }

  // What is known of a row before the loop, where it meets what is known of a column.
  void countRows(attn::MapOp map, Operation &op) {
    if (!(operandDependence(map, op) & kStream))
      return;
    for (Value scalar : op.getOperands()) {
      if ((dependence(map, scalar) & (kRow | kStream)) != kRow)
        continue;
      auto argument = dyn_cast<BlockArgument>(scalar);
      Value known = argument ? map.getOperand(argument.getArgNumber()) : scalar;
      if (seen.insert(known))
        needs.rows += argument ? wordsOf(known) : 1;
    }
  }

  // Each takes a reciprocal, a remainder and a way out for the extremes of floats; a reciprocal of
  // its own has none of the rest.
  void countQuotients(attn::MapOp map) {
    map.walk([&](arith::DivFOp op) {
      if (op.getLhs().getDefiningOp<arith::ConstantOp>())
        return;
      unsigned divisor = dependence(map, op.getRhs());
      needs.quotients += (divisor & kRow) && ((divisor | dependence(map, op.getLhs())) & kInner);
    });
  }

  bool isTerm(attn::MapOp map, Value scalar) {
    return (dependence(map, scalar) & (kRow | kStream | kProducts)) == (kRow | kStream);
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

  enum : unsigned { kRow = 1, kStream = 2, kProducts = 4, kInner = 8 };

  // What a scalar of the map depends on.
  unsigned dependence(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar)) {
      Value array = map.getOperand(argument.getArgNumber());
      return (typeOf(array).hasDim(plan.row) ? kRow : 0u) |
             (typeOf(array).hasDim(plan.stream) ? kStream : 0u) |
             (isOfProducts(array) ? kProducts : 0u) | (hasInnerDim(array) ? kInner : 0u);
    }
    if (auto known = dependences.find(scalar); known != dependences.end())
      return known->second;
    unsigned all = operandDependence(map, *scalar.getDefiningOp());
    return dependences[scalar] = all;
  }

  unsigned operandDependence(attn::MapOp map, Operation &op) {
    unsigned all = 0;
    for (Value operand : op.getOperands())
      all |= dependence(map, operand);
    return all;
  }

  red::NestOp nest;
  const StreamPlan &plan;
  RegisterNeeds needs;
  llvm::SmallSetVector<Value, 8> seen; // arrays, and scalars of maps, that are counted
  llvm::DenseMap<Value, bool> ofProducts;
  llvm::DenseMap<Value, bool> askedOfLanes; // arrays, and scalars of maps
  llvm::DenseMap<Value, unsigned> dependences;
};

} // namespace

RegisterNeeds countRegisterNeeds(red::NestOp nest, const StreamPlan &plan) {
  return NeedsCounter(nest, plan).count();
}

} // namespace attnc::schedule
