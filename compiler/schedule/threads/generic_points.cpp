#include "compiler/schedule/threads/generic_points.h"
#include "compiler/schedule/nest/kernel_memory.h"
#include "compiler/schedule/threads/sliding_values.h"
#include "compiler/transforms/split.h"

using namespace mlir;

namespace attnc::schedule {

// Elements that a thread has along the last dim where little is folded for each: they share their
// indices, and what is folded without that dim.
static constexpr int64_t kPointsTogether = 4;
// Elements of a fold that are little.
static constexpr int64_t kFewElements = 16;
// Elements along another dim that hand on what a window slides over. More take registers and save
// little: of n points each reads (n + w) / n elements of a window of w.
static constexpr int64_t kPointsOfWindow = 16;

// The dims, those of the result's tensor last, as its memory has them.
static SmallVector<StringAttr> inOrderOf(Value result, ArrayRef<StringAttr> dims) {
  llvm::SetVector<StringAttr> order;
  const auto tensor = tensorOf(result); // outlives what goes over its dims
  for (StringAttr dim : llvm::reverse(tensor.dims))
    order.insert(dim);
  for (StringAttr dim : llvm::reverse(dims))
    order.insert(dim);
  return llvm::to_vector(llvm::reverse(order));
}

SmallVector<StringAttr> pointDims(red::NestOp nest) {
  return inOrderOf(nest.getResults().front(),
                   attn::unionDims(attn::programOf(nest), nest.getResults()));
}

int64_t Together::along(StringAttr dim) const {
  for (auto [each, count] : dims)
    if (each == dim)
      return count;
  return 1;
}

// True if the fold is over parts of a stream, or over as few elements at any size.
static bool isShort(red::FoldOp fold) {
  attn::ProgramOp program = attn::programOf(fold);
  int64_t elements = 1;
  for (StringAttr dim : attn::dimNames(fold.getDims())) {
    attn::DimAttr declared = program.lookupDim(dim);
    if (isPartDim(program, dim))
      continue;
    if (!declared.isStatic() || (elements *= declared.getExtent()) > kFewElements)
      return false;
  }
  return true;
}

// A product of a factor that has the dim x with one that has y: points both ways share them.
static bool isProductOf(red::FoldOp fold, StringAttr x, StringAttr y) {
  auto hasOnly = [&](StringAttr dim, StringAttr other) {
    return llvm::any_of(fold.getFactors(), [&](Value factor) {
      auto type = cast<attn::ArrayType>(factor.getType());
      return type.hasDim(dim) && !type.hasDim(other);
    });
  };
  return hasOnly(x, y) && hasOnly(y, x);
}

static bool slides(red::FoldOp fold, StringAttr dim) {
  SmallVector<StringAttr> window = attn::dimNames(fold.getDims());
  return window.size() == 1 && attn::programOf(fold).lookupDim(window[0]).isStatic() &&
         !slidingValues(fold, dim, window[0]).empty();
}

// True if parts of streams are merged that have a known number of rows in each cell: there are many
// parts where cells are few, and then a thread is longer at one point than all are at one in turn.
// Measured of 66 parts of 128 rows, 64 wide: 4.5 us, with 4 points a thread 16 (H200, not
// recorded).
static bool mergesFewRows(red::NestOp nest) {
  attn::ProgramOp program = attn::programOf(nest);
  auto hasFewRows = [&](Value array) {
    auto parts = array.getDefiningOp<red::NestOp>();
    return parts && llvm::all_of(parts.getRow().getAsRange<StringAttr>(),
                                 [&](StringAttr row) { return program.lookupDim(row).isStatic(); });
  };
  auto isOfParts = [&](Value array) {
    return llvm::any_of(cast<attn::ArrayType>(array.getType()).getDims(),
                        [&](StringAttr dim) { return isPartDim(program, dim); });
  };
  SmallVector<Value> parts = llvm::filter_to_vector(nest.captures(), isOfParts);
  return !parts.empty() && llvm::all_of(parts, hasFewRows);
}

// Lanes of a warp are side by side along the last dim, as results lie in memory: so a window slides
// along another. States are not among the folds of several points: each has the stream of its own.
static Together pointsTogether(red::NestOp nest, ArrayRef<StringAttr> dims) {
  if (dims.empty())
    return {};
  StringAttr last = dims.back();
  auto folds = nest.getBodyBlock()->getOps<red::FoldOp>();
  auto dimWhere = [&](llvm::function_ref<bool(red::FoldOp, StringAttr)> holds) {
    for (StringAttr dim : dims.drop_back())
      if (nest.states().empty() &&
          llvm::any_of(folds, [&](red::FoldOp fold) { return holds(fold, dim); }))
        return dim;
    return StringAttr();
  };
  if (StringAttr dim = dimWhere(slides))
    return {{{dim, kPointsOfWindow}}, true};
  auto isLongProduct = [&](red::FoldOp fold, StringAttr dim) {
    return !isShort(fold) && isProductOf(fold, dim, last);
  };
  if (StringAttr dim = dimWhere(isLongProduct))
    return {{{dim, kPointsTogether}, {last, kPointsTogether}}, true};
  if (llvm::all_of(folds, isShort) && !mergesFewRows(nest))
    return {{{last, kPointsTogether}}};
  return {};
}

SmallVector<ResultGroup> resultGroups(red::NestOp nest) {
  auto typeOf = [&](unsigned result) {
    return cast<attn::ArrayType>(nest.getResult(result).getType());
  };
  auto isWithin = [](ArrayRef<StringAttr> dims, ArrayRef<StringAttr> others) {
    return llvm::all_of(dims, [&](StringAttr dim) { return llvm::is_contained(others, dim); });
  };
  SmallVector<ResultGroup> groups;
  for (unsigned result = 0; result < nest.getNumResults(); ++result) {
    ArrayRef<StringAttr> dims = typeOf(result).getDims();
    auto isLess = [&](const ResultGroup &group) { return isWithin(group.dims, dims); };
    auto hasAll = [&](const ResultGroup &group) { return isWithin(dims, group.dims); };
    if (llvm::any_of(groups, hasAll))
      continue;
    llvm::erase_if(groups, isLess);
    groups.push_back({{}, inOrderOf(nest.getResult(result), dims), {}});
  }
  for (unsigned result = 0; result < nest.getNumResults(); ++result)
    llvm::find_if(groups, [&](const ResultGroup &group) {
      return isWithin(typeOf(result).getDims(), group.dims);
    })->results.push_back(result);
  for (ResultGroup &group : groups)
    group.together = pointsTogether(nest, group.dims);
  return groups;
}

ResultGroup groupOfCell(red::NestOp nest, size_t cellDims) {
  SmallVector<StringAttr> dims = pointDims(nest);
  dims.erase(dims.begin(), dims.begin() + cellDims);
  return {llvm::to_vector(llvm::seq<unsigned>(nest.getNumResults())), dims,
          pointsTogether(nest, dims)};
}

} // namespace attnc::schedule
