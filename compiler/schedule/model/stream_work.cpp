#include "compiler/schedule/model/stream_work.h"
#include "compiler/schedule/model/scalar_cost.h"
#include "compiler/schedule/nest/score_scale.h"
#include "compiler/schedule/slab/tile_weights.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Tile/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

class Counter {
public:
  Counter(red::NestOp nest, const StreamPlan &plan) : nest(nest), plan(plan) {}

  StreamWork count() {
    countProducts();
    countBytes();
    countExponents();
    for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>())
      for (Value operand : fold->getOperands())
        if (isScores(operand))
          countArray(operand);
    if (multipliesTiles(plan)) // no element passes registers
      work.plain = 0;
    auto yield = cast<red::YieldOp>(body()->getTerminator());
    for (OpResult pair : plan.pairs)
      countArray(yield.getValues()[pair.getResultNumber()]);
    return work;
  }

  // Masks are counted with what they choose from.
  StreamWork countPartial() {
    evaluatesMasks = true;
    return count();
  }

private:
  static attn::ArrayType typeOf(Value array) { return cast<attn::ArrayType>(array.getType()); }
  bool isScores(Value array) {
    return typeOf(array).hasDim(plan.row) && typeOf(array).hasDim(plan.stream);
  }

  void countProducts() {
    for (const Contraction &contraction : plan.contractions)
      work.scoreColumns += contraction.resident.wholeCols();
    for (const StreamState &state : plan.states)
      if (state.streamed != -1)
        work.weightColumns += plan.streamed[state.streamed].cols;
  }

  static int64_t bytesOf(const OperandTile &operand) {
    return operand.wholeCols() * tile::elementType(operand.element).bytes;
  }

  void countBytes() {
    llvm::SmallSetVector<Operation *, 2> resident;
    for (const Contraction &contraction : plan.contractions)
      if (resident.insert(contraction.resident.source))
        work.rowBytes += bytesOf(contraction.resident);
    for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
      // Blocks share the columns of states; those of scores each block reads.
      int64_t parts = isScoreOperand(plan, i) ? 1 : partsOf(operand);
      work.streamBytes += bytesOf(operand) / parts;
    }
    for (Value result : nest.getResults()) {
      int64_t elements = 1;
      for (StringAttr dim : typeOf(result).getDims())
        if (llvm::is_contained(nest.getInner(), dim))
          elements *= attn::programOf(nest).lookupDim(dim).getExtent();
      work.resultBytes += elements * tile::elementType(tensorOf(result).element).bytes;
    }
  }

  // Maxima, exponents, sums and conversions: what the form adds to the maps of the nest. The factor
  // of an exponent and the subtraction of the reference are one operation.
  void countExponents() {
    work.plain += static_cast<double>(plan.references.size()); // maximum
    llvm::SmallDenseSet<int> converted;
    for (const Weight &weight : plan.weights) {
      if (weight.reference != -1) {
        work.special += 1;
        work.plain += 1;
      }
      work.plain += static_cast<double>(weight.factors.size());
    }
    for (const StreamState &state : plan.states)
      if (state.streamed == -1)
        work.plain += 1;
      else if (converted.insert(state.weight).second)
        work.plain += 0.5; // two elements at a time
  }

  // Counts what computes an array of scores, once. A factor that all scores share is part of the
  // exponent.
  void countArray(Value array) {
    if (!seen.insert(array).second)
      return;
    auto isThis = [&](const Difference &each) { return each.array == array; };
    if (const auto *found = llvm::find_if(plan.differences, isThis);
        found != plan.differences.end()) {
      work.differences += found->cost;
      work.differenceCount += 1;
      return;
    }
    if (llvm::any_of(plan.addends, [&](const Addend &each) { return each.sum == array; }))
      return;
    if (auto read = array.getDefiningOp<attn::ReadOp>(); read && read->getBlock() == body()) {
      int64_t bytes = tile::elementType(tensorOf(read.getSource()).element).bytes;
      work.scoreBytes += bytes;
      if (llvm::all_of(nest.getGrid().getAsRange<StringAttr>(),
                       [&](StringAttr dim) { return read.getType().hasDim(dim); }))
        work.ownScoreBytes += bytes;
      work.plain += kReadCost.plain;
      return;
    }
    auto map = array.getDefiningOp<attn::MapOp>();
    if (!map || map->getBlock() != body())
      return;
    bool scaled = isExponent(array) && positiveFactor(nest, array);
    countScalar(map, map.getYielded());
    if (scaled)
      work.plain -= 1;
    for (Value operand : map.getOperands())
      if (isScores(operand))
        countArray(operand);
  }

  bool isExponent(Value array) {
    return llvm::any_of(plan.references,
                        [&](Reference r) { return r.fold.getFactors().front() == array; });
  }

  // Counts the operations that a score needs: those whose value differs from row to row and from
  // column to column, on the way to `scalar`, as a tile without a mask takes it.
  void countScalar(attn::MapOp map, Value scalar) {
    Operation *op = scalar.getDefiningOp();
    if (!op || !seen.insert(scalar).second)
      return;
    if (auto select = dyn_cast<arith::SelectOp>(op))
      if (auto side = select->getAttrOfType<BoolAttr>(red::kFullAttr); side && !evaluatesMasks)
        return countScalar(map, side.getValue() ? select.getTrueValue() : select.getFalseValue());
    if (dimsOf(map, scalar) == (kRow | kStream)) {
      ScalarCost cost = scalarCost(op);
      if (sharesFactor(map, scalar))
        cost = {0, sharesFactor(map, op->getOperand(0)) || sharesFactor(map, op->getOperand(1))
                       ? 0.
                       : 1.};
      else if (isAffineIndex(scalar))
        cost = {};
      else if (isa<arith::SIToFPOp>(op) && isAffineIndex(op->getOperand(0)))
        cost = {0, 1}; // the distance to the lane's first column is added
      work.special += cost.special;
      work.plain += cost.plain;
    }
    for (Value operand : op->getOperands())
      countScalar(map, operand);
  }

  enum : unsigned { kRow = 1, kStream = 2 };

  // The tiled dims that a scalar of the map depends on.
  unsigned dimsOf(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar)) {
      attn::ArrayType type = typeOf(map.getOperand(argument.getArgNumber()));
      return (type.hasDim(plan.row) ? kRow : 0u) | (type.hasDim(plan.stream) ? kStream : 0u);
    }
    if (auto known = dims.find(scalar); known != dims.end())
      return known->second;
    unsigned all = 0;
    for (Value operand : scalar.getDefiningOp()->getOperands())
      all |= dimsOf(map, operand);
    return dims[scalar] = all;
  }

  // x * c or x / c with a c that all elements share: one product, whatever number of factors in a
  // row (share_arithmetic.h).
  bool sharesFactor(attn::MapOp map, Value scalar) {
    Operation *op = scalar.getDefiningOp();
    if (isa_and_nonnull<arith::DivFOp>(op))
      return dimsOf(map, op->getOperand(1)) == 0;
    return isa_and_nonnull<arith::MulFOp>(op) &&
           (dimsOf(map, op->getOperand(0)) == 0 || dimsOf(map, op->getOperand(1)) == 0);
  }

  // A sum or difference of indices.
  bool isAffineIndex(Value scalar) {
    if (auto known = affine.find(scalar); known != affine.end())
      return known->second;
    bool result = scalar.getType().isIntOrIndex();
    if (Operation *op = scalar.getDefiningOp(); result && op)
      result = isa<arith::ConstantOp>(op) ||
               (isa<arith::AddIOp, arith::SubIOp>(op) &&
                llvm::all_of(op->getOperands(), [&](Value v) { return isAffineIndex(v); }));
    return affine[scalar] = result;
  }

  Block *body() { return nest.getBodyBlock(); }

  red::NestOp nest;
  const StreamPlan &plan;
  bool evaluatesMasks = false;
  StreamWork work;
  llvm::DenseSet<Value> seen;           // arrays and scalars that are counted
  llvm::DenseMap<Value, unsigned> dims; // of scalars
  llvm::DenseMap<Value, bool> affine;
};

} // namespace

StreamWork StreamWork::withoutTables() const {
  StreamWork work = *this;
  work.special += differences.special;
  work.plain += differences.plain;
  return work;
}

StreamWork StreamWork::withTables() const {
  StreamWork work = *this;
  work.plain += kTableReads * static_cast<double>(differenceCount);
  return work;
}

StreamWork countWork(red::NestOp nest, const StreamPlan &plan) {
  return Counter(nest, plan).count();
}

StreamWork countMasks(red::NestOp nest, const StreamPlan &plan) {
  StreamWork full = countWork(nest, plan), partial = Counter(nest, plan).countPartial();
  partial.special -= full.special;
  partial.plain -= full.plain;
  // The end of the stream: a comparison and a choice.
  partial.plain += 2;
  return partial;
}

} // namespace attnc::schedule
