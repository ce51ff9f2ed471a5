#include "compiler/transforms/hoist_vectors.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/pass_states.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace attnc {
namespace {

// A fold of so few terms costs less than what it takes to launch a kernel for it: one that steps
// compute again and again, and those that are computed once, for each row and for each element.
constexpr int64_t kFewTerms = 8, kFewTermsOfRow = 128, kFewTermsOfElement = 16;

attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }

bool hasSome(Value array, ArrayAttr dims) {
  return llvm::any_of(dims.getAsRange<StringAttr>(),
                      [&](StringAttr dim) { return arrayType(array).hasDim(dim); });
}

class VectorHoister {
public:
  explicit VectorHoister(red::NestOp nest) : nest(nest), program(attn::programOf(nest)) {}

  void run() {
    while (red::FoldOp fold = lastVector()) {
      cut(fold);
      eraseUnused();
    }
  }

private:
  // The last, since what it is computed from may have no other use.
  red::FoldOp lastVector() {
    for (Operation &op : llvm::reverse(*nest.getBodyBlock()))
      if (auto fold = dyn_cast<red::FoldOp>(op); fold && isVector(fold))
        return fold;
    return {};
  }

  bool isVector(red::FoldOp fold) {
    if (llvm::is_contained(nest.states(), fold) || nest.dependsOnState(fold) ||
        !fold.getType().getElementType().isF32() ||
        hasSome(fold, nest.getRow()) == hasSome(fold, nest.getStream()) ||
        !isNoLargerThanAnInput(fold))
      return false;
    bool isOfScores = isReadByScores(fold);
    if (hasSome(fold, nest.getInner()))
      return !isOfScores && allTerms(fold) > kFewTermsOfElement && readsFloats(fold);
    return isOfScores ? terms(fold) > kFewTerms : allTerms(fold) > kFewTermsOfRow;
  }

  // Of the fold and of those within it.
  int64_t allTerms(red::FoldOp fold) {
    int64_t count = 1;
    for (Operation *op : sliceOf(fold))
      if (auto each = dyn_cast<red::FoldOp>(op))
        count *= terms(each);
    return count;
  }

  // True if a tensor of f32 is behind it. Sums over near rows of 16 bits may be products with a
  // band of weights, where the nest is.
  bool readsFloats(red::FoldOp fold) {
    return llvm::any_of(sliceOf(fold), [](Operation *op) {
      auto read = dyn_cast<attn::ReadOp>(op);
      return read && arrayType(read.getSource()).getElementType().isF32();
    });
  }

  unsigned dynamicDims(ArrayRef<StringAttr> dims) {
    return llvm::count_if(dims, [&](StringAttr dim) { return !program.lookupDim(dim).isStatic(); });
  }

  // What is cut goes through memory: never a value for each pair of positions of two sequences.
  bool isNoLargerThanAnInput(red::FoldOp fold) {
    auto dims = fold.getType().getDims();
    return llvm::any_of(sliceOf(fold), [&](Operation *op) {
      auto read = dyn_cast<attn::ReadOp>(op);
      return read &&
             llvm::all_of(dims, [&](StringAttr dim) { return read.getType().hasDim(dim); }) &&
             dynamicDims(dims) <= dynamicDims(arrayType(read.getSource()).getDims());
    });
  }

  int64_t terms(red::FoldOp fold) {
    int64_t count = 1;
    for (StringAttr dim : fold.getDims().getAsRange<StringAttr>())
      count *=
          program.lookupDim(dim).isStatic() ? program.lookupDim(dim).getExtent() : 2 * kFewTerms;
    return count;
  }

  // True if something that varies along the stream is computed from the array, or a state.
  bool isReadByScores(Value array) {
    llvm::SmallDenseSet<Value> seen;
    SmallVector<Value> work = {array};
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (hasSome(value, nest.getStream()))
        return true;
      for (Operation *user : value.getUsers()) {
        if (llvm::any_of(nest.states(), [&](red::FoldOp state) { return state == user; }))
          return true;
        if (user->getNumResults() == 1 && seen.insert(user->getResult(0)).second)
          work.push_back(user->getResult(0));
      }
    }
    return false;
  }

  // The ops of the body that `fold` is computed by, in their order.
  SmallVector<Operation *> sliceOf(red::FoldOp fold) {
    llvm::SmallSetVector<Operation *, 8> slice;
    slice.insert(fold);
    for (size_t i = 0; i < slice.size(); ++i)
      for (Value operand : slice[i]->getOperands())
        if (Operation *op = operand.getDefiningOp(); op && op->getBlock() == nest.getBodyBlock())
          slice.insert(op);
    SmallVector<Operation *> ops = slice.takeVector();
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return ops;
  }

  void cut(red::FoldOp fold) {
    SmallVector<Operation *> slice = sliceOf(fold);
    SmallVector<StringAttr> grid, stream, inner;
    // Elements of rows are each computed on their own: many of them lie side by side.
    (hasSome(fold, nest.getInner()) ? inner : stream) = attn::dimNames(fold.getDims());
    SmallVector<Value> results;
    for (Operation *op : slice)
      results.push_back(op->getResult(0));
    for (StringAttr dim : attn::unionDims(program, results))
      if (fold.getType().hasDim(dim))
        grid.push_back(dim);
      else if (!llvm::is_contained(stream, dim) && !llvm::is_contained(inner, dim))
        inner.push_back(dim);
    OpBuilder b(nest);
    auto own =
        red::NestOp::create(b, fold.getLoc(), fold->getResultTypes(), grid, {}, stream, inner);
    derivation::record(own, derivation::stepAt(derivation::Rule::HoistedVector, fold.getLoc(),
                                               specTextOf(fold), {{"dims", variesWith(fold)}}));
    b.setInsertionPointToStart(own.getBodyBlock());
    IRMapping mapping;
    for (Operation *op : slice)
      b.clone(*op, mapping);
    red::YieldOp::create(b, fold.getLoc(), mapping.lookup(fold.getResult()));
    b.setInsertionPoint(fold);
    auto dims = fold.getType().getDims();
    auto read =
        attn::ReadOp::create(b, fold.getLoc(), fold.getType(), own.getResult(0), ValueRange(),
                             b.getArrayAttr({dims.begin(), dims.end()}), FloatAttr());
    fold.replaceAllUsesWith(read.getResult());
  }

  // "rows i"
  std::string variesWith(red::FoldOp fold) {
    bool byRow = hasSome(fold, nest.getRow());
    return (byRow ? "rows " : "the stream ") +
           listDims(attn::dimNames(byRow ? nest.getRow() : nest.getStream()));
  }

  void eraseUnused() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*nest.getBodyBlock())))
      if (op.use_empty() && !isa<red::YieldOp>(op))
        op.erase();
  }

  red::NestOp nest;
  attn::ProgramOp program;
};

} // namespace

void hoistVectors(attn::ProgramOp program) {
  for (red::NestOp nest : llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>()))
    if (!nest.getRow().empty() && !nest.getStream().empty())
      VectorHoister(nest).run();
}

} // namespace attnc
