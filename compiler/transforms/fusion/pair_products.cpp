#include "compiler/transforms/fusion/pair_products.h"
#include "compiler/transforms/fusion/fold_form.h"
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

} // namespace

bool isPairProduct(FoldOp fold) {
  attn::ProgramOp program = attn::programOf(fold);
  auto isStatic = [&](StringAttr dim) { return program.lookupDim(dim).isStatic(); };
  if (fold.getKind() != red::FoldKind::Add || fold.getExponent() || fold.getFactors().size() < 2 ||
      !llvm::all_of(attn::dimNames(fold.getDims()), isStatic))
    return false;
  DimSet pairs; // dims that some factor lacks
  DimSet all = dynamicDims(program, fold);
  bool hasBoth = false;
  for (Value factor : fold.getFactors()) {
    DimSet lacks = llvm::set_difference(all, dynamicDims(program, factor));
    for (Value other : fold.getFactors()) {
      DimSet lackedByOther = llvm::set_difference(all, dynamicDims(program, other));
      hasBoth |=
          !llvm::set_is_subset(lacks, lackedByOther) && !llvm::set_is_subset(lackedByOther, lacks);
    }
    llvm::set_union(pairs, lacks);
  }
  return hasBoth && isFoldedLater(fold, pairs);
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

llvm::SmallDenseSet<Value> storedFactors(attn::ProgramOp program) {
  llvm::SmallDenseSet<Operation *> products;
  for (auto fold : program.getBodyBlock()->getOps<FoldOp>())
    if (isPairProduct(fold))
      products.insert(fold);
  llvm::SmallDenseSet<Value> stored;
  for (Operation *product : products)
    for (Value factor : FoldOp(product).getFactors())
      if (isWorthStoring(program, factor, products))
        stored.insert(factor);
  return stored;
}

} // namespace attnc
