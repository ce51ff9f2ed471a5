#include "compiler/transforms/fusion/roles.h"
#include "compiler/transforms/fusion/fold_form.h"
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

// What an array is computed from by maps alone.
llvm::SetVector<Value> leavesOf(ValueRange arrays) {
  llvm::SetVector<Value> reached, leaves;
  reached.insert(arrays.begin(), arrays.end());
  for (size_t i = 0; i < reached.size(); ++i)
    if (auto map = reached[i].getDefiningOp<attn::MapOp>())
      reached.insert(map->operand_begin(), map->operand_end());
    else
      leaves.insert(reached[i]);
  return leaves;
}

// A fold along the stream makes scores: what is resident has row dims that what is streamed has
// not.
void addContraction(red::FoldOp fold, ArrayRef<StringAttr> stream, Scores &scores) {
  DimSet resident, streamed;
  for (Value leaf : leavesOf(fold.getFactors())) {
    DimSet dims = dimsOf(leaf);
    llvm::set_union(intersects(dims, stream) ? streamed : resident, dims);
  }
  llvm::set_subtract(resident, streamed);
  llvm::set_union(scores.candidates, resident);
  llvm::set_union(scores.dims, dimsOf(fold));
}

// So does a sum of weights times values: the weights, or exponents of theirs, have row dims that
// the values have not.
void addWeightedSum(red::FoldOp fold, attn::ProgramOp program, Scores &scores) {
  SmallVector<Value> weights(fold.getFactors());
  if (Value exponent = fold.getExponent())
    weights = {exponent};
  for (Value weight : weights)
    for (Value value : fold.getFactors()) {
      DimSet rows = dimsOf(weight), columns = dimsOf(value);
      bool isValue = llvm::any_of(columns, [&](StringAttr dim) {
        return program.lookupDim(dim).isStatic() && !rows.contains(dim);
      });
      isValue = isValue && !isMask(value);
      llvm::set_subtract(rows, columns);
      bool hasRows =
          llvm::any_of(rows, [&](StringAttr dim) { return !program.lookupDim(dim).isStatic(); });
      if (!isValue || !hasRows)
        continue;
      llvm::set_union(scores.candidates, rows);
      llvm::set_union(scores.dims, dimsOf(weight));
    }
}

// The ops that exponents and extrema are computed from: scores, not what weights are applied to.
llvm::SmallDenseSet<Operation *> feedingScores(ArrayRef<red::FoldOp> states) {
  llvm::SmallDenseSet<Operation *> feeding;
  SmallVector<Value> work;
  for (red::FoldOp state : states)
    if (isScoreState(state))
      work.push_back(state.getExponent() ? state.getExponent() : state.getFactors().front());
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && feeding.insert(op).second)
      llvm::append_range(work, op->getOperands());
  return feeding;
}

Scores findScores(attn::ProgramOp program, ArrayRef<StringAttr> stream, ArrayRef<Operation *> ops,
                  ArrayRef<red::FoldOp> states) {
  Scores scores;
  auto addContractions = [&](function_ref<bool(Operation *)> matters) {
    for (Operation *op : ops)
      if (auto fold = dyn_cast<red::FoldOp>(op); fold && !llvm::is_contained(states, fold) &&
                                                 intersects(dimsOf(fold), stream) && matters(op))
        addContraction(fold, stream, scores);
  };
  llvm::SmallDenseSet<Operation *> feeding = feedingScores(states);
  addContractions([&](Operation *op) { return feeding.contains(op); });
  for (red::FoldOp state : states)
    if (!state.getExponent() && state.getFactors().size() > 1)
      addWeightedSum(state, program, scores);
  if (scores.candidates.empty()) // scores that another nest stores
    for (red::FoldOp state : states)
      if (state.getExponent())
        addWeightedSum(state, program, scores);
  if (scores.candidates.empty()) // sums of scores, without values
    addContractions([&](Operation *op) { return !feeding.contains(op); });
  bool weighted = llvm::any_of(states, [](red::FoldOp s) { return bool(s.getExponent()); });
  if (!weighted && scores.candidates.empty())
    return {};
  for (red::FoldOp state : states)
    if (state.getExponent())
      llvm::set_union(scores.dims, dimsOf(state.getExponent()));
  // An extremum of scores, or of scores and values: the scores are then those of all columns.
  bool hasContractions = !scores.dims.empty();
  for (red::FoldOp state : states)
    if (isScoreState(state) && !state.getExponent())
      for (StringAttr dim : dimsOf(state.getFactors().front()))
        if (!hasContractions || !program.lookupDim(dim).isStatic())
          scores.dims.insert(dim);
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

//===--- nests without scores
//--------------------------------------------------------------------===//

// Extents below this one leave most of a tile of rows empty.
constexpr int64_t kFewRows = 8;

/// The row dim of a nest in which nothing is computed for pairs of positions, and the dim of the
/// columns of its products, if it has any.
struct Rows {
  StringAttr row, column;
};

class RowFinder {
public:
  RowFinder(attn::ProgramOp program, ArrayRef<StringAttr> stream, ArrayRef<Operation *> ops,
            ArrayRef<red::FoldOp> states, ArrayRef<Value> results)
      : program(program), stream(stream), ops(ops), states(states), results(results) {}

  Rows find() {
    for (red::FoldOp state : states)
      if (state.getKind() == red::FoldKind::Add && !state.getExponent())
        for (Value rows : state.getFactors())
          for (Value columns : state.getFactors())
            considerProduct(rows, columns);
    return best.row ? best : findOfSums();
  }

  // Of sums and maxima, any dim of theirs. A mask is narrowest where the dims that it is about are
  // not tiled; elements that follow each other are read and written together; later dims are longer
  // as a rule.
  Rows findOfSums() {
    DimSet dims;
    for (red::FoldOp state : states)
      llvm::set_union(dims, dimsOf(state));
    for (auto [place, dim] : llvm::enumerate(attn::canonicalDims(program, llvm::to_vector(dims))))
      if (isKeptByStates(dim) && extentOf(dim) >= kFewRows && !isCompared(dim))
        offer({dim, {}}, {0, nearness(dim), place});
    return best;
  }

private:
  using Worth = std::tuple<unsigned, unsigned, int64_t>; // the first one matters most

  int64_t extentOf(StringAttr dim) {
    attn::DimAttr attr = program.lookupDim(dim);
    return attr.isStatic() ? attr.getExtent() : std::numeric_limits<int64_t>::max();
  }

  // How near to each other elements along the dim are in memory: next to each other; where layouts
  // put them; or as far apart as subscripts say.
  unsigned nearness(StringAttr dim) {
    if (isContiguous(dim, ops) || isWrittenTogether(dim))
      return 2;
    return llvm::none_of(ops, [&](Operation *op) {
      auto read = dyn_cast<attn::ReadOp>(op);
      return read && llvm::any_of(read.getIndices(),
                                  [&](Value index) { return dimsOf(index).contains(dim); });
    });
  }

  bool isWrittenTogether(StringAttr dim) {
    return llvm::any_of(results, [&](Value result) {
      return llvm::any_of(result.getUsers(), [&](Operation *user) {
        auto output = dyn_cast<attn::OutputOp>(user);
        return output && !output.getDims().empty() &&
               attn::dimNames(output.getDims()).back() == dim;
      });
    });
  }

  // True if the dim's index, or an integer that varies along it, meets what depends on the stream.
  bool isCompared(StringAttr dim) {
    return meetsStream(dim, stream, ops) || llvm::any_of(ops, [&](Operation *op) {
             auto map = dyn_cast<attn::MapOp>(op);
             return map && intersects(dimsOf(map->getResult(0)), stream) &&
                    llvm::any_of(map.getOperands(), [&](Value x) {
                      auto type = cast<attn::ArrayType>(x.getType());
                      return isa<IntegerType>(type.getElementType()) && type.hasDim(dim) &&
                             !intersects(dimsOf(x), stream);
                    });
           });
  }

  bool isKeptByStates(StringAttr dim) {
    return llvm::all_of(states, [&](red::FoldOp state) { return dimsOf(state).contains(dim); });
  }

  // True if elements along the dim follow each other in some tensor that `ops` read.
  static bool isContiguous(StringAttr dim, ArrayRef<Operation *> ops) {
    return llvm::any_of(ops, [&](Operation *op) {
      auto read = dyn_cast<attn::ReadOp>(op);
      return read && !read.getSubscripts().empty() &&
             read.subscriptDim(read.getSubscripts().size() - 1) == dim;
    });
  }

  // A product along the stream: rows are dims of one factor alone, columns those of the other, but
  // for dims of the grid, which one of them may lack.
  void considerProduct(Value first, Value second) {
    DimSet rows = dimsOf(first), columns = dimsOf(second);
    for (StringAttr dim : stream)
      if (!rows.contains(dim) || !columns.contains(dim))
        return;
    llvm::set_subtract(columns, dimsOf(first));
    llvm::set_subtract(rows, dimsOf(second));
    StringAttr column = columnOf(columns, second);
    if (!column)
      return;
    // Columns that leave as an output has them, and arrive as they lie in memory; many rows.
    bool plain = isContiguous(column, second.getDefiningOp()) || isStored(second);
    StringAttr row; // the longest, of equal ones the last
    for (StringAttr dim : attn::canonicalDims(program, llvm::to_vector(rows)))
      if (isKeptByStates(dim) && extentOf(dim) >= (row ? extentOf(row) : kFewRows))
        row = dim;
    if (row)
      offer({row, column}, {isWrittenTogether(column), plain, extentOf(row)});
  }

  // What another nest stores gets the layout that its readers want.
  static bool isStored(Value array) {
    auto read = array.getDefiningOp<attn::ReadOp>();
    return read && read.getSource().getDefiningOp<red::NestOp>();
  }

  // Of known extent; where several are, that along which elements follow each other.
  StringAttr columnOf(const DimSet &dims, Value array) {
    SmallVector<StringAttr, 2> known, contiguous;
    for (StringAttr dim : attn::canonicalDims(program, llvm::to_vector(dims)))
      if (program.lookupDim(dim).isStatic()) {
        known.push_back(dim);
        if (isContiguous(dim, array.getDefiningOp()))
          contiguous.push_back(dim);
      }
    if (known.size() != 1)
      known = contiguous;
    return known.size() == 1 ? known.front() : StringAttr();
  }

  // Of equal ones, the first stays: of a product the rows of its first factor.
  void offer(Rows rows, Worth worth) {
    if (best.row && worth <= bestWorth)
      return;
    best = rows;
    bestWorth = worth;
  }

  attn::ProgramOp program;
  ArrayRef<StringAttr> stream;
  ArrayRef<Operation *> ops;
  ArrayRef<red::FoldOp> states;
  ArrayRef<Value> results;
  Rows best;
  Worth bestWorth;
};

} // namespace

Roles chooseRoles(attn::ProgramOp program, ArrayRef<StringAttr> stream, ArrayRef<Operation *> ops,
                  ArrayRef<red::FoldOp> states, ArrayRef<Value> results) {
  SmallVector<StringAttr> all;
  for (Operation *op : ops) {
    for (Value result : op->getResults())
      llvm::append_range(all, cast<attn::ArrayType>(result.getType()).getDims());
    if (isa<attn::ReadOp>(op)) // what it reads may have dims that it selects from
      continue;
    for (Value operand : op->getOperands()) // what other nests stored is read as a whole
      if (auto type = dyn_cast<attn::ArrayType>(operand.getType()))
        llvm::append_range(all, type.getDims());
  }
  for (Value result : results)
    llvm::append_range(all, cast<attn::ArrayType>(result.getType()).getDims());
  all = attn::canonicalDims(program, all);

  Scores scores = findScores(program, stream, ops, states);
  Rows rows;
  bool hasPairs = !scores.dims.empty();
  if (!hasPairs) { // every dim of a result is its own
    for (Value result : results)
      llvm::set_union(scores.dims, dimsOf(result));
    for (red::FoldOp state : states)
      llvm::set_union(scores.dims, dimsOf(state));
    if (stream.size() == 1)
      rows = RowFinder(program, stream, ops, states, results).find();
    scores.dims.erase(rows.column);
  }
  // A tile or block has all of a dim that is folded in it, also where results keep the dim.
  for (Operation *op : ops)
    if (auto fold = dyn_cast<red::FoldOp>(op))
      for (StringAttr dim : attn::dimNames(fold.getDims()))
        scores.dims.erase(dim);
  Roles roles;
  roles.stream.assign(stream.begin(), stream.end());
  StringAttr row = hasPairs ? chooseRow(all, scores, stream, ops) : rows.row;
  if (hasPairs && !row && stream.size() == 1) // weights of elements that are there, not of products
    row = RowFinder(program, stream, ops, states, results).findOfSums().row;
  if (row && !scores.dims.contains(row)) // folded in the tile as well
    row = {};
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
