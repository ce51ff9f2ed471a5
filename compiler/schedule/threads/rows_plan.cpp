#include "compiler/schedule/threads/rows_plan.h"
#include "compiler/schedule/nest/domain_slice.h"

using namespace mlir;

namespace attnc::schedule {

static ArrayRef<StringAttr> dimsOf(Value array) {
  return cast<attn::ArrayType>(array.getType()).getDims();
}

bool RowsPlan::isPerRow(Value array) const {
  return llvm::all_of(dimsOf(array), [&](StringAttr dim) { return isStream(dim) || isCell(dim); });
}

int RowsPlan::weightOf(red::FoldOp state) const {
  for (auto [i, weight] : llvm::enumerate(weights))
    if (weight.exponent == state.getExponent() && weight.reference == state.getReference())
      return i;
  return -1;
}

SmallVector<Value> operandsOf(red::FoldOp fold) {
  SmallVector<Value> operands(fold.getFactors());
  if (fold.getBase())
    operands.push_back(fold.getBase());
  return operands;
}

namespace {

class Planner {
public:
  Planner(red::NestOp nest, std::string &why) : nest(nest), why(why) {}

  FailureOr<RowsPlan> plan() {
    if (nest.states().empty())
      return refuse("it has no states");
    result.outer = attn::dimNames(nest.getStream());
    result.stream = result.outer.pop_back_val();
    findCells();
    for (red::FoldOp state : nest.states())
      if (failed(addState(state)))
        return failure();
    for (red::FoldOp state : nest.states())
      if (state.getCentre() && !knowsCentre(state))
        return refuse("a centre depends on states with other inner dims");
    for (RowsGroup &group : result.groups)
      for (red::FoldOp state : group.states)
        for (Value operand : operandsOf(state))
          share(operand);
    for (Value value : nest.getResults())
      for (StringAttr dim : dimsOf(value))
        if (!result.isCell(dim) && !isStatic(dim))
          return refuse("the extent of " + dim.str() + ", an inner dim of a result, is not static");
    chooseRow();
    findFoldsOfScalars();
    return result;
  }

private:
  LogicalResult refuse(const std::string &text) {
    why = text;
    return failure();
  }

  bool isStatic(StringAttr dim) { return attn::programOf(nest).lookupDim(dim).isStatic(); }

  // The dims of the results that are not inner; those of the first result in its order.
  void findCells() {
    llvm::SetVector<StringAttr> cells;
    auto add = [&](ArrayRef<StringAttr> dims) {
      for (StringAttr dim : dims)
        if (!llvm::is_contained(nest.getInner(), dim) && !isLikeInner(dim))
          cells.insert(dim);
    };
    add(tensorOf(nest.getResults().front()).dims);
    for (Value value : nest.getResults())
      add(dimsOf(value));
    result.cells = cells.takeVector();
  }

  // A dim of another role whose elements lie side by side in what is streamed, and of which neither
  // weights nor the domain know, is spread over threads as inner ones are.
  bool isLikeInner(StringAttr dim) {
    bool isLast = false;
    for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
      unsigned last = tensorOf(read.getSource()).dims.size();
      bool isStreamed =
          llvm::any_of(dimsOf(read), [&](StringAttr d) { return nest.isStreamDim(d); });
      isLast |= last && isStreamed && read.subscriptDim(last - 1) == dim;
    }
    bool isWeighted = llvm::any_of(nest.states(), [&](red::FoldOp state) {
      return state.getExponent() && llvm::is_contained(dimsOf(state.getExponent()), dim);
    });
    return isLast && isStatic(dim) && !isWeighted && !isOfDomain(dim);
  }

  bool isOfDomain(StringAttr dim) {
    Block *domain = nest.getDomainBlock();
    if (!domain)
      return false;
    auto isUsed = [&](unsigned number) { return !domain->getArgument(number).use_empty(); };
    unsigned grid = nest.getGrid().size();
    for (auto [i, cell] : llvm::enumerate(nest.getGrid()))
      if (cell == dim)
        return isUsed(i);
    for (auto [i, row] : llvm::enumerate(nest.getRow()))
      if (row == dim)
        return isUsed(grid + 2 * i) || isUsed(grid + 2 * i + 1);
    return false;
  }

  LogicalResult addState(red::FoldOp state) {
    if (state.getDims().size() != nest.getStream().size() ||
        !llvm::all_of(state.getDims(),
                      [&](Attribute dim) { return llvm::is_contained(nest.getStream(), dim); }))
      return refuse("a state is a fold over other dims than the stream's");
    Type element = state.getType().getElementType();
    if (!element.isF32() && !isa<IntegerType>(element))
      return refuse("a state is neither f32 nor an integer");
    if (Value reference = state.getReference(); reference && result.weightOf(state) < 0) {
      auto fold = reference.getDefiningOp<red::FoldOp>();
      bool isRunning = fold && llvm::is_contained(nest.states(), fold);
      if (!result.isPerRow(state.getExponent()) || !result.isPerRow(reference))
        return refuse("exponents differ along an inner dim");
      result.weights.push_back({state.getExponent(), reference, isRunning});
      if (isRunning)
        share(state.getExponent());
    }
    SmallVector<StringAttr> inner;
    for (StringAttr dim : dimsOf(state))
      if (!result.isCell(dim))
        inner.push_back(dim);
    if (inner.empty()) {
      result.plain.push_back(state);
      return success();
    }
    for (StringAttr dim : inner)
      if (!isStatic(dim))
        return refuse("the extent of " + dim.str() + ", an inner dim of a state, is not static");
    groupOf(inner, state).states.push_back(state);
    return success();
  }

  // The centre of a moment and the sums below it are made of states that are plain, or have the
  // moment's inner dims.
  bool knowsCentre(red::FoldOp moment) {
    auto isKnown = [&](red::FoldOp state) {
      auto inGroup = [&](const RowsGroup &group) {
        return llvm::is_contained(group.states, moment) && llvm::is_contained(group.states, state);
      };
      return llvm::is_contained(result.plain, state) || llvm::any_of(result.groups, inGroup);
    };
    llvm::SetVector<Value> reached;
    reached.insert(moment.getCentre());
    for (size_t i = 0; i < reached.size(); ++i) {
      auto fold = reached[i].getDefiningOp<red::FoldOp>();
      if (fold && (!isKnown(fold) || fold.getCentre()))
        return false;
      if (auto map = reached[i].getDefiningOp<attn::MapOp>())
        reached.insert(map->operand_begin(), map->operand_end());
    }
    return llvm::all_of(moment.getLower(),
                        [&](Value sum) { return isKnown(sum.getDefiningOp<red::FoldOp>()); });
  }

  // The fold's terms, or what they are computed from, read something that is the same for all rows.
  bool readsWhatRowsShare(red::FoldOp fold) {
    SmallVector<StringAttr> folded = attn::dimNames(fold.getDims());
    auto isFolded = [&](StringAttr dim) { return llvm::is_contained(folded, dim); };
    llvm::SetVector<Value> reached;
    for (Value operand : fold.termOperands())
      reached.insert(operand);
    for (size_t i = 0; i < reached.size(); ++i) {
      ArrayRef<StringAttr> dims = dimsOf(reached[i]);
      if (!llvm::is_contained(dims, result.row) && llvm::any_of(dims, isFolded))
        return true;
      if (auto map = reached[i].getDefiningOp<attn::MapOp>())
        reached.insert(map->operand_begin(), map->operand_end());
    }
    return false;
  }

  // Looks for folds over inner dims in the scalars.
  void findFoldsOfScalars() {
    llvm::SetVector<Value> reached(result.scalars.begin(), result.scalars.end());
    for (size_t i = 0; result.row && i < reached.size(); ++i) {
      Operation *op = reached[i].getDefiningOp();
      if (!op || op->getBlock() != nest.getBodyBlock())
        continue;
      reached.insert(op->operand_begin(), op->operand_end());
      if (auto fold = dyn_cast<red::FoldOp>(op))
        result.foldsTogether |= readsWhatRowsShare(fold);
    }
  }

  // An array of the body that depends on the stream and has one element for a row and index of it
  // is computed once: the whole, or the parts of what has inner dims.
  void share(Value array) {
    if (llvm::none_of(dimsOf(array), [&](StringAttr dim) { return result.isStream(dim); }))
      return;
    Operation *op = array.getDefiningOp();
    bool isOfBody = op && op->getBlock() == nest.getBodyBlock();
    if (result.isPerRow(array)) {
      if (isOfBody && !isa<attn::IndexOp>(op) && !llvm::is_contained(result.scalars, array))
        result.scalars.push_back(array);
      return;
    }
    if (!isOfBody)
      return;
    auto read = dyn_cast<attn::ReadOp>(op);
    for (Value operand : op->getOperands())
      if (!read || operand != read.getSource())
        share(operand);
  }

  // In the order in which memory has them, where the first factor is a tensor.
  void sortInner(SmallVector<StringAttr> &inner, red::FoldOp state) {
    for (Value factor : state.getFactors())
      if (auto read = factor.getDefiningOp<attn::ReadOp>()) {
        SmallVector<StringAttr> ordered;
        for (unsigned axis = 0; axis < tensorOf(read.getSource()).dims.size(); ++axis)
          if (StringAttr dim = read.subscriptDim(axis))
            if (llvm::is_contained(inner, dim) && !llvm::is_contained(ordered, dim))
              ordered.push_back(dim);
        if (ordered.size() == inner.size())
          inner = ordered;
        if (!ordered.empty())
          return;
      }
  }

  RowsGroup &groupOf(SmallVector<StringAttr> inner, red::FoldOp state) {
    for (RowsGroup &group : result.groups)
      if (group.dims.size() == inner.size() &&
          llvm::all_of(inner, [&](StringAttr dim) { return llvm::is_contained(group.dims, dim); }))
        return group;
    sortInner(inner, state);
    RowsGroup &group = result.groups.emplace_back();
    group.dims = inner;
    for (StringAttr dim : inner)
      group.elements *= attn::programOf(nest).lookupDim(dim).getExtent();
    return group;
  }

  // Several rows of a block are along the dim that the most elements of streamed operands do not
  // depend on; of equals the last. A grid dim that the domain knows has one index in a block.
  void chooseRow() {
    int64_t most = -1;
    for (StringAttr dim : result.cells) {
      if (!canHaveSeveral(dim))
        continue;
      int64_t saved = 0;
      for (const RowsGroup &group : result.groups)
        saved += sharesRows(group, dim) ? group.elements : 0;
      if (saved < most)
        continue;
      most = saved;
      result.row = dim;
    }
    if (!result.row)
      return;
    for (RowsGroup &group : result.groups)
      group.dividesRows = !sharesRows(group, result.row);
  }

  bool canHaveSeveral(StringAttr dim) {
    return !llvm::is_contained(nest.getGrid(), dim) || !isOfDomain(dim);
  }

  // An operand with inner dims that is the same for all indices of the dim.
  bool sharesRows(const RowsGroup &group, StringAttr dim) {
    return llvm::any_of(group.states, [&](red::FoldOp state) {
      return llvm::any_of(operandsOf(state), [&](Value operand) {
        return !result.isPerRow(operand) && !llvm::is_contained(dimsOf(operand), dim);
      });
    });
  }

  red::NestOp nest;
  std::string &why;
  RowsPlan result;
};

} // namespace

FailureOr<RowsPlan> planRows(red::NestOp nest, std::string &why) {
  return Planner(nest, why).plan();
}

} // namespace attnc::schedule
