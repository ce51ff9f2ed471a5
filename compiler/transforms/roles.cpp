#include "compiler/transforms/roles.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;

namespace attnc {
namespace {

using DimSet = llvm::SmallDenseSet<StringAttr>;

DimSet dimsOf(Value array) {
  auto dims = cast<attn::ArrayType>(array.getType()).getDims();
  return DimSet(dims.begin(), dims.end());
}

bool intersects(const DimSet &dims, ArrayRef<StringAttr> list) {
  return llvm::any_of(list, [&](StringAttr dim) { return dims.contains(dim); });
}

// The dims that decide which weights exist: those of exponents, and of what max and min fold.
DimSet scoreDims(ArrayRef<red::FoldOp> states, ArrayRef<StringAttr> stream) {
  DimSet dims;
  for (red::FoldOp state : states) {
    if (state.getExponent())
      llvm::set_union(dims, dimsOf(state.getExponent()));
    else if (state.getKind() != red::FoldKind::Add)
      llvm::set_union(dims, dimsOf(state.getFactors().front()));
  }
  for (StringAttr dim : stream)
    dims.erase(dim);
  return dims;
}

// Dims of the resident operand of a contraction along the stream that its streamed operand has not.
DimSet rowCandidates(ArrayRef<Operation *> ops, ArrayRef<red::FoldOp> states,
                     ArrayRef<StringAttr> stream) {
  DimSet resident, streamed;
  for (Operation *op : ops) {
    auto fold = dyn_cast<red::FoldOp>(op);
    if (!fold || llvm::is_contained(states, fold) || !intersects(dimsOf(fold), stream))
      continue;
    for (Value factor : fold.getFactors()) {
      DimSet dims = dimsOf(factor);
      llvm::set_union(intersects(dims, stream) ? streamed : resident, dims);
    }
  }
  llvm::set_subtract(resident, streamed);
  return resident;
}

} // namespace

Roles chooseRoles(attn::ProgramOp program, ArrayRef<StringAttr> stream, ArrayRef<Operation *> ops,
                  ArrayRef<red::FoldOp> states, ArrayRef<Value> results) {
  SmallVector<StringAttr> all;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      llvm::append_range(all, cast<attn::ArrayType>(result.getType()).getDims());
  for (Value result : results)
    llvm::append_range(all, cast<attn::ArrayType>(result.getType()).getDims());
  all = attn::canonicalDims(program, all);

  DimSet score = scoreDims(states, stream);
  bool weighted = llvm::any_of(states, [](red::FoldOp s) { return bool(s.getExponent()); });
  if (!weighted) {
    score.clear();
    for (Value result : results)
      llvm::set_union(score, dimsOf(result));
    for (red::FoldOp state : states)
      llvm::set_union(score, dimsOf(state));
  }
  Roles roles;
  roles.stream.assign(stream.begin(), stream.end());
  StringAttr row;
  DimSet candidates = weighted ? rowCandidates(ops, states, stream) : DimSet();
  for (StringAttr dim : all)
    if (score.contains(dim) && candidates.contains(dim))
      row = dim;
  for (StringAttr dim : all) {
    if (llvm::is_contained(stream, dim))
      continue;
    if (dim == row)
      roles.row.push_back(dim);
    else
      (score.contains(dim) ? roles.grid : roles.inner).push_back(dim);
  }
  return roles;
}

} // namespace attnc
