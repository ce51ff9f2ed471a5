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

// What a nest computes for each pair of a row and a stream index.
struct Scores {
  DimSet dims;       // of scores, without the stream: these are grid or row dims
  DimSet candidates; // those of them that could be the row dim
};

bool isScoreState(red::FoldOp state) {
  return state.getExponent() || state.getKind() != red::FoldKind::Add;
}

// A contraction along the stream makes scores: its resident operand has row dims that its streamed
// operand has not.
void addContraction(red::FoldOp fold, ArrayRef<StringAttr> stream, Scores &scores) {
  DimSet resident, streamed;
  for (Value factor : fold.getFactors()) {
    DimSet dims = dimsOf(factor);
    llvm::set_union(intersects(dims, stream) ? streamed : resident, dims);
  }
  llvm::set_subtract(resident, streamed);
  llvm::set_union(scores.candidates, resident);
  llvm::set_union(scores.dims, dimsOf(fold));
}

// So does a sum of weights times values: the weights have row dims that the values have not.
void addWeightedSum(red::FoldOp fold, attn::ProgramOp program, Scores &scores) {
  for (Value weight : fold.getFactors())
    for (Value value : fold.getFactors()) {
      DimSet rows = dimsOf(weight), columns = dimsOf(value);
      bool isValue = llvm::any_of(columns, [&](StringAttr dim) {
        return program.lookupDim(dim).isStatic() && !rows.contains(dim);
      });
      llvm::set_subtract(rows, columns);
      bool hasRows =
          llvm::any_of(rows, [&](StringAttr dim) { return !program.lookupDim(dim).isStatic(); });
      if (!isValue || !hasRows)
        continue;
      llvm::set_union(scores.candidates, rows);
      llvm::set_union(scores.dims, dimsOf(weight));
    }
}

Scores findScores(attn::ProgramOp program, ArrayRef<StringAttr> stream, ArrayRef<Operation *> ops,
                  ArrayRef<red::FoldOp> states) {
  Scores scores;
  for (Operation *op : ops)
    if (auto fold = dyn_cast<red::FoldOp>(op);
        fold && !llvm::is_contained(states, fold) && intersects(dimsOf(fold), stream))
      addContraction(fold, stream, scores);
  for (red::FoldOp state : states)
    if (!state.getExponent() && state.getFactors().size() > 1)
      addWeightedSum(state, program, scores);
  bool weighted = llvm::any_of(states, [](red::FoldOp s) { return bool(s.getExponent()); });
  if (!weighted && scores.candidates.empty())
    return {};
  for (red::FoldOp state : states)
    if (isScoreState(state))
      llvm::set_union(scores.dims, dimsOf(state.getExponent() ? state.getExponent()
                                                              : state.getFactors().front()));
  for (red::FoldOp state : states)
    for (StringAttr dim : dimsOf(state))
      if (!program.lookupDim(dim).isStatic())
        scores.dims.insert(dim);
  for (StringAttr dim : stream)
    scores.dims.erase(dim);
  return scores;
}

// True if the index of the dim is compared or combined with what depends on the stream: a mask, a
// distance.
bool meetsStream(StringAttr dim, ArrayRef<StringAttr> stream, ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, [&](Operation *op) {
    auto index = dyn_cast<attn::IndexOp>(op);
    return index && index.getDimAttr() == dim &&
           llvm::any_of(index->getUsers(), [&](Operation *user) {
             auto map = dyn_cast<attn::MapOp>(user);
             return map && intersects(dimsOf(map->getResult(0)), stream);
           });
  });
}

// Of several dims, those whose indices meet the stream's are positions in a sequence; others may be
// heads. The last one in the program's order of those, or of all.
StringAttr chooseRow(ArrayRef<StringAttr> dims, const Scores &scores, ArrayRef<StringAttr> stream,
                     ArrayRef<Operation *> ops) {
  StringAttr row;
  bool rowMeets = false;
  for (StringAttr dim : dims) {
    if (!scores.dims.contains(dim) || !scores.candidates.contains(dim))
      continue;
    bool meets = meetsStream(dim, stream, ops);
    if (meets || !rowMeets)
      row = dim;
    rowMeets |= meets;
  }
  return row;
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

  Scores scores = findScores(program, stream, ops, states);
  if (scores.dims.empty()) { // nothing is computed for pairs: every dim of a result is its own
    for (Value result : results)
      llvm::set_union(scores.dims, dimsOf(result));
    for (red::FoldOp state : states)
      llvm::set_union(scores.dims, dimsOf(state));
  }
  // A tile or block has all of a dim that is folded in it, also where results keep the dim.
  for (Operation *op : ops)
    if (auto fold = dyn_cast<red::FoldOp>(op))
      for (StringAttr dim : attn::dimNames(fold.getDims()))
        scores.dims.erase(dim);
  Roles roles;
  roles.stream.assign(stream.begin(), stream.end());
  StringAttr row = chooseRow(all, scores, stream, ops);
  for (StringAttr dim : all) {
    if (llvm::is_contained(stream, dim))
      continue;
    if (dim == row)
      roles.row.push_back(dim);
    else
      (scores.dims.contains(dim) ? roles.grid : roles.inner).push_back(dim);
  }
  return roles;
}

} // namespace attnc
