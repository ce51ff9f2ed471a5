#include "compiler/transforms/fusion/pair_products.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/keep_in_range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;
using attnc::red::FoldOp;

namespace attnc {
namespace {

using DimSet = llvm::SmallDenseSet<StringAttr>;

DimSet dynamicDims(attn::ProgramOp program, Value array) {
  DimSet dims;
  for (StringAttr dim : cast<attn::ArrayType>(array.getType()).getDims())
    if (!program.lookupDim(dim).isStatic())
      dims.insert(dim);
  return dims;
}

// The ops that `value` is computed by.
llvm::SetVector<Operation *> slice(Value value) {
  llvm::SetVector<Operation *> ops;
  ops.insert(value.getDefiningOp());
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands())
      ops.insert(operand.getDefiningOp());
  return ops;
}

// True if a fold over one of `dims` takes what is computed from `fold`.
bool isFoldedLater(FoldOp fold, const DimSet &dims) {
  llvm::SetVector<Operation *> users;
  users.insert(fold->user_begin(), fold->user_end());
  for (size_t i = 0; i < users.size(); ++i) {
    auto other = dyn_cast<FoldOp>(users[i]);
    if (other && llvm::any_of(attn::dimNames(other.getDims()),
                              [&](StringAttr dim) { return dims.contains(dim); }))
      return true;
    if (other || isa<attn::MapOp>(users[i]))
      users.insert(users[i]->user_begin(), users[i]->user_end());
  }
  return false;
}

// Of a sum over static dims of factors of two sequences: the dims that some factor lacks.
std::optional<DimSet> pairOf(FoldOp fold) {
  attn::ProgramOp program = attn::programOf(fold);
  auto isStatic = [&](StringAttr dim) { return program.lookupDim(dim).isStatic(); };
  if (fold.getKind() != red::FoldKind::Add || fold.getExponent() || fold.getFactors().size() < 2 ||
      !llvm::all_of(attn::dimNames(fold.getDims()), isStatic))
    return std::nullopt;
  DimSet pair;
  DimSet all = dynamicDims(program, fold);
  bool hasBoth = false;
  for (Value factor : fold.getFactors()) {
    DimSet lacks = llvm::set_difference(all, dynamicDims(program, factor));
    for (Value other : fold.getFactors()) {
      DimSet lackedByOther = llvm::set_difference(all, dynamicDims(program, other));
      hasBoth |=
          !llvm::set_is_subset(lacks, lackedByOther) && !llvm::set_is_subset(lackedByOther, lacks);
    }
    llvm::set_union(pair, lacks);
  }
  return hasBoth ? std::optional(pair) : std::nullopt;
}

// Columns of 16 bits beside stored weights, which are f32: one warp converts each tile of them.
// Measured (cliffs-h100.json, pair_differences and, not recorded, pair_values): a quarter of the
// time of one pass with 15 columns, three times as much with 130.
constexpr int64_t kMostConverted = 32;

bool readsHalves(Value values) {
  return llvm::any_of(slice(values), [](Operation *op) {
    auto read = dyn_cast<attn::ReadOp>(op);
    auto type = read ? dyn_cast<FloatType>(
                           cast<attn::ArrayType>(read.getSource().getType()).getElementType())
                     : FloatType();
    return type && type.getWidth() == 16;
  });
}

// True if products of pairs, of whose two sequences `values` has the dims, are behind `weights`,
// which have a dim that `values` lacks, as have the products, and lack one of its columns.
bool weighsPairs(attn::ProgramOp program, Value weights, Value values, StringAttr stream) {
  auto dimsOf = [](Value array) { return cast<attn::ArrayType>(array.getType()).getDims(); };
  auto isOfValues = [&](StringAttr dim) { return llvm::is_contained(dimsOf(values), dim); };
  SmallVector<StringAttr> heads(dimsOf(weights));
  llvm::erase_if(heads, isOfValues);
  int64_t columns = 1;
  for (StringAttr dim : dimsOf(values))
    if (program.lookupDim(dim).isStatic() && !llvm::is_contained(dimsOf(weights), dim))
      columns *= program.lookupDim(dim).getExtent();
  if (columns == 1 || (columns > kMostConverted && readsHalves(values)) || heads.empty() ||
      sumsWeights(program, weights, stream))
    return false;
  return llvm::any_of(slice(weights), [&](Operation *op) {
    auto fold = dyn_cast<FoldOp>(op);
    std::optional<DimSet> pair = fold ? pairOf(fold) : std::nullopt;
    return pair && pair->contains(stream) && llvm::all_of(*pair, isOfValues) &&
           llvm::all_of(heads, [&](StringAttr dim) { return fold.getType().hasDim(dim); });
  });
}

bool isCostly(Operation *op) {
  bool isCheap = isa<math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::RoundOp,
                     math::RoundEvenOp, math::TruncOp, math::FmaOp>(op);
  return isa<arith::DivFOp>(op) || (isa<math::MathDialect>(op->getDialect()) && !isCheap);
}

bool isWorthStoring(attn::ProgramOp program, Value factor,
                    const llvm::SmallDenseSet<Operation *> &products) {
  if (!factor.getDefiningOp<attn::MapOp>() || isMask(factor))
    return false;
  DimSet own = dynamicDims(program, factor);
  bool costs = false, fits = false;
  for (Operation *op : slice(factor)) {
    if (products.contains(op))
      return false;
    if (auto read = dyn_cast<attn::ReadOp>(op))
      fits |= llvm::set_is_subset(own, dynamicDims(program, read)) &&
              own.size() <= dynamicDims(program, read.getSource()).size();
    costs |= isa<FoldOp>(op);
    if (isa<attn::MapOp>(op))
      op->walk([&](Operation *scalar) { costs |= isCostly(scalar); });
  }
  return costs && fits;
}

// What a nest stores for sums of values of pairs: the weights, which products give once more; or
// what they are computed from before any sequence is folded, where no product gives that.
SmallVector<Value> storedOf(attn::ProgramOp program, Value weights) {
  auto isSlow = [](Operation *op) {
    auto fold = dyn_cast<FoldOp>(op);
    return fold && isOfPairs(fold) && !pairOf(fold);
  };
  if (llvm::none_of(slice(weights), isSlow))
    return {weights};
  auto foldsSequence = [&](Operation *op) {
    auto fold = dyn_cast<FoldOp>(op);
    return fold && llvm::any_of(attn::dimNames(fold.getDims()),
                                [&](StringAttr dim) { return !program.lookupDim(dim).isStatic(); });
  };
  SmallVector<Value> scores;
  llvm::SetVector<Value> reached;
  reached.insert(weights);
  for (size_t i = 0; i < reached.size(); ++i)
    if (auto ops = slice(reached[i]); llvm::any_of(ops, foldsSequence))
      reached.insert(reached[i].getDefiningOp()->operand_begin(),
                     reached[i].getDefiningOp()->operand_end());
    else if (llvm::any_of(ops, isSlow))
      scores.push_back(reached[i]);
  return scores;
}

} // namespace

bool isPairProduct(FoldOp fold) {
  std::optional<DimSet> pair = pairOf(fold);
  return pair && isFoldedLater(fold, *pair);
}

bool isOfPairs(FoldOp fold) {
  attn::ProgramOp program = attn::programOf(fold);
  DimSet pair = dynamicDims(program, fold);
  return !readsTensorWith(fold, llvm::to_vector(pair)) && isFoldedLater(fold, pair);
}

bool readsTensorWith(Value array, ArrayRef<StringAttr> dims) {
  return llvm::any_of(slice(array), [&](Operation *op) {
    auto read = dyn_cast<attn::ReadOp>(op);
    return read && llvm::all_of(dims, [&](StringAttr dim) { return read.getType().hasDim(dim); });
  });
}

bool isPairCount(FoldOp fold) {
  return fold.getKind() == red::FoldKind::Add && !fold.getExponent() &&
         fold.getFactors().size() == 1 && isMask(fold.getFactors().front()) && isOfPairs(fold);
}

bool sumsValuesOfPairs(FoldOp fold, SmallVectorImpl<Value> *weights) {
  if (fold.getKind() != red::FoldKind::Add || fold.getExponent() || fold.getDims().size() != 1)
    return false;
  attn::ProgramOp program = attn::programOf(fold);
  StringAttr stream = attn::dimNames(fold.getDims()).front();
  if (isFoldedLater(fold, DimSet({stream}))) // the centre of a moment is found in one pass with it
    return false;
  SmallVector<Value> found;
  for (Value factor : fold.getFactors())
    if (llvm::any_of(fold.getFactors(), [&](Value values) {
          return values != factor && weighsPairs(program, factor, values, stream);
        }))
      found.push_back(factor);
  if (weights)
    llvm::append_range(*weights, found);
  return !found.empty();
}

llvm::SmallDenseSet<Value> storedFactors(attn::ProgramOp program) {
  llvm::SmallDenseSet<Operation *> products;
  SmallVector<Value> weights;
  for (auto fold : program.getBodyBlock()->getOps<FoldOp>()) {
    if (isPairProduct(fold))
      products.insert(fold);
    sumsValuesOfPairs(fold, &weights);
  }
  llvm::SmallDenseSet<Value> stored;
  for (Value of : weights)
    stored.insert_range(storedOf(program, of));
  for (Operation *product : products)
    for (Value factor : FoldOp(product).getFactors())
      if (isWorthStoring(program, factor, products))
        stored.insert(factor);
  return stored;
}

} // namespace attnc
