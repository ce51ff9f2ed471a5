#include "compiler/transforms/fuse_nests.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/compared_elements.h"
#include "compiler/transforms/fusion/epilogue_values.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/fold_order.h"
#include "compiler/transforms/fusion/join_extremum.h"
#include "compiler/transforms/fusion/join_sum.h"
#include "compiler/transforms/fusion/keep_in_range.h"
#include "compiler/transforms/fusion/pair_products.h"
#include "compiler/transforms/fusion/real_sums.h"
#include "compiler/transforms/fusion/segment_sums.h"
#include "dialects/Red/Cancellation.h"
#include "llvm/ADT/SetOperations.h"
#include <optional>

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

// A fold of so few terms is recomputed for less than another kernel costs.
constexpr int64_t kFewTerms = 8;

attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

class Fuser {
public:
  explicit Fuser(ProgramOp program) : program(program) {}

  Partition run() {
    for (FoldOp fold : llvm::to_vector(program.getBodyBlock()->getOps<FoldOp>()))
      if (fold.getKind() == FoldKind::Min)
        turnMinimum(fold);
    markComparedElements(program);
    SmallVector<FoldOp> written(program.getBodyBlock()->getOps<FoldOp>());
    findNormalisedDims(written);
    for (FoldOp &fold : written)
      fold = foldInnerDimsFirst(fold);
    foldStreamsInTurn(written);
    for (FoldOp fold : unbounded) {
      Pass own;
      own.stream = dimNames(fold.getDims());
      keepInRange(program, fold, own);
      for (const derivation::Step &step : own.derivation)
        if (step.rule == derivation::Rule::OwnMaximum) // rows are whole there: nothing is rescaled
          derivation::record(program, step);
    }
    SmallVector<FoldOp> folds(program.getBodyBlock()->getOps<FoldOp>());
    for (FoldOp fold : folds)
      if (isPairProduct(fold) || isPairCount(fold))
        ofPairs.insert(fold);
    for (auto [position, fold] : llvm::enumerate(folds))
      if (isStreamFold(fold))
        place(fold);
      else if (StringRef why = whyApart(fold, ArrayRef(folds).drop_front(position + 1));
               !why.empty())
        streamsBehind(fold) ? place(fold, why) : placeInner(fold, why);
    combineInEpilogue(program, passes);
    makeComparedElementsExact(program);
    eraseUnusedStates(program, passes);
    return std::move(passes);
  }

private:
  //===--- which folds are passes ------------------------------------------------------------===//

  // Static dims that some maximum or minimum runs over are streamed like dynamic ones, unless it
  // folds what a stream leaves, and those of a sum of weights that only a maximum of their own
  // keeps in range.
  void findNormalisedDims(ArrayRef<FoldOp> folds) {
    for (FoldOp fold : folds) {
      bool isExtremum = fold.getKind() == FoldKind::Max || fold.getKind() == FoldKind::Min;
      bool isWeighted = !isExtremum && sumsWeights(fold);
      if ((isExtremum || isWeighted) && followsStream(fold)) {
        behindStreams.insert(fold.getDims());
        if (isWeighted)
          unbounded.push_back(fold);
      } else if (isExtremum || isWeighted)
        for (StringAttr dim : dimNames(fold.getDims()))
          normalised.insert(dim);
    }
  }

  // True if `fold`, over static dims, takes nothing but what folds over dynamic ones leave for the
  // same rows: the epilogue of their pass may fold it (partition.h, foldsInEpilogue).
  bool followsStream(FoldOp fold) {
    auto isStatic = [&](StringAttr dim) { return program.lookupDim(dim).isStatic(); };
    if (!llvm::all_of(dimNames(fold.getDims()), isStatic))
      return false;
    llvm::SmallSetVector<Value, 16> reached;
    SmallVector<FoldOp> sources, followers;
    llvm::SmallDenseSet<StringAttr> left, used;
    reached.insert(fold);
    for (size_t i = 0; i < reached.size(); ++i) {
      Operation *op = reached[i].getDefiningOp();
      auto other = dyn_cast<FoldOp>(op);
      bool isSource = other && !llvm::all_of(dimNames(other.getDims()), isStatic);
      (isSource ? left : used).insert_range(arrayType(reached[i]).getDims());
      if (other)
        (isSource ? sources : followers).push_back(other);
      auto read = dyn_cast<ReadOp>(op);
      if (read && !isa<InputOp>(read.getSource().getDefiningOp()))
        return false; // at other elements than the states have
      if (isa<MapOp>(op) || (other && !isSource))
        reached.insert_range(op->getOperands());
    }
    return !sources.empty() && llvm::set_is_subset(used, left) &&
           llvm::all_of(followers, [&](FoldOp follower) {
             return llvm::all_of(sources, [&](FoldOp s) { return hasDims(s, follower); });
           });
  }

  bool streamsBehind(FoldOp fold) const { return behindStreams.contains(fold.getDims()); }

  bool sumsWeights(FoldOp fold) {
    return fold.getKind() == FoldKind::Add && fold.getFactors().size() == 1 &&
           attnc::sumsWeights(program, fold.getFactors().front(), dimNames(fold.getDims()));
  }

  bool isStreamed(StringAttr dim) {
    return !program.lookupDim(dim).isStatic() || normalised.contains(dim);
  }

  bool isStreamFold(FoldOp fold) {
    return llvm::any_of(dimNames(fold.getDims()),
                        [&](StringAttr dim) { return isStreamed(dim); }) &&
           !ofPairs.contains(fold);
  }

  // A fold over streamed and inner dims becomes one over the streamed dims, of a fold over the
  // inner ones: a dim is either streamed or whole in a tile, where what the fold takes may be a
  // fold over the same inner dims.
  FoldOp foldInnerDimsFirst(FoldOp fold) {
    SmallVector<StringAttr> inner;
    llvm::copy_if(dimNames(fold.getDims()), std::back_inserter(inner),
                  [&](StringAttr dim) { return !isStreamed(dim); });
    return inner.size() < fold.getDims().size() ? foldFirst(fold, inner) : fold;
  }

  // Sums over several streams become sums over the rest of sums over one of them: these have rows,
  // which blocks share. Beside an extremum over as many they stay, to be one pass with that, and
  // where the rows are pairs of positions.
  void foldStreamsInTurn(ArrayRef<FoldOp> written) {
    SmallVector<SmallVector<StringAttr>> extrema;
    llvm::SmallDenseSet<StringAttr> alone; // streams of other folds
    for (FoldOp fold : written)
      if (SmallVector<StringAttr> dims = dimNames(fold.getDims()); dims.size() == 1)
        alone.insert(dims.front());
      else if (fold.getKind() != FoldKind::Add)
        extrema.push_back(dims);
    for (FoldOp fold : written) {
      SmallVector<StringAttr> dims = dimNames(fold.getDims());
      auto hasSeveral = [&](ArrayRef<StringAttr> other) {
        return llvm::count_if(dims, [&](StringAttr d) { return llvm::is_contained(other, d); }) > 1;
      };
      if (fold.getKind() != FoldKind::Add || !isStreamFold(fold) || isPairProduct(fold) ||
          llvm::any_of(extrema, hasSeveral))
        continue;
      for (size_t i = dims.size();
           i-- > 0;) // those that others stream go last, and are folded first
        if (alone.contains(dims[i])) {
          std::rotate(dims.begin() + i, dims.begin() + i + 1, dims.end());
          break;
        }
      for (; dims.size() > 1 && leavesRows(fold, dims.back()); dims.pop_back())
        fold = foldFirst(fold, dims.back());
    }
  }

  // True if the sums over `first` are no more than some tensor has elements: not a value for each
  // pair of positions.
  bool leavesRows(FoldOp fold, StringAttr first) {
    SmallVector<StringAttr> left = unionDims(program, llvm::to_vector(fold.getFactors()));
    llvm::erase_if(
        left, [&](StringAttr dim) { return dim == first || program.lookupDim(dim).isStatic(); });
    return left.size() < 2 || readsTensorWith(fold, left);
  }

  // A fold over the other dims of a fold over `first`; the fold itself if nothing has these.
  FoldOp foldFirst(FoldOp fold, ArrayRef<StringAttr> first) {
    auto hasSome = [&](Value factor) {
      return llvm::any_of(first, [&](StringAttr dim) { return arrayType(factor).hasDim(dim); });
    };
    if (first.empty() || !llvm::any_of(fold.getFactors(), hasSome))
      return fold;
    SmallVector<Value> within, outside;
    for (Value factor : fold.getFactors())
      (hasSome(factor) ? within : outside).push_back(factor);
    SmallVector<Attribute> inner(first.begin(), first.end()), rest;
    llvm::copy_if(fold.getDims(), std::back_inserter(rest),
                  [&](Attribute dim) { return !llvm::is_contained(inner, dim); });
    OpBuilder b(fold);
    SmallVector<StringAttr> dims = unionDims(program, within);
    llvm::erase_if(dims, [&](StringAttr dim) { return llvm::is_contained(first, dim); });
    auto type = attn::ArrayType::get(b.getContext(), dims, fold.getType().getElementType());
    outside.push_back(red::withCancellationOf(
        fold, FoldOp::create(b, fold.getLoc(), type, fold.getKind(), b.getArrayAttr(inner), within,
                             Value(), Value())));
    auto last = FoldOp::create(b, fold.getLoc(), fold.getType(), fold.getKind(),
                               b.getArrayAttr(rest), outside, Value(), Value());
    fold.getResult().replaceAllUsesWith(red::withCancellationOf(fold, last));
    fold.erase();
    return last;
  }

  // A fold over inner dims that stays in tiles is recomputed for each; where that would nest one
  // contraction in another, or would wait for a state only to be stored, its result is a pass's:
  // then this says why. `later` are the folds behind it; those before it may have been erased.
  StringRef whyApart(FoldOp fold, ArrayRef<FoldOp> later) {
    if (foldsInEpilogue(fold, passes))
      return "";
    bool feedsInner = llvm::any_of(later, [&](FoldOp other) {
      return !isStreamFold(other) && !hasAllDims(fold, other) &&
             computesFrom(other, fold, /*throughInner=*/false);
    });
    bool streamedLater = llvm::any_of(later, [&](FoldOp other) {
      return isStreamFold(other) && computesFrom(other, fold) &&
             llvm::any_of(dimNames(other.getDims()),
                          [&](StringAttr dim) { return fold.getType().hasDim(dim); });
    });
    if (feedsInner)
      return "another sum in a tile would compute it again for each of its terms";
    if (lastPass(fold) >= 0 && !streamedLater)
      return "it takes what another pass leaves, of which no tile of that pass has all";
    if (isProductByItself(fold, later))
      return "no pass streams it, and it is a product of matrices: tiles of its own read each once";
    bool repeated = llvm::any_of(later, [&](FoldOp other) { return isRepeatedFor(fold, other); });
    return repeated ? "the tiles of a later pass would compute it again for each tile of rows" : "";
  }

  // True if no other fold takes `fold`, and its factors are matrices: each has a dim that the other
  // lacks, and the columns of one are known.
  bool isProductByItself(FoldOp fold, ArrayRef<FoldOp> later) {
    if (fold.getKind() != FoldKind::Add || fold.getDims().size() != 1 ||
        termsOf(fold) <= kFewTerms ||
        llvm::any_of(later, [&](FoldOp other) { return computesFrom(other, fold); }))
      return false;
    auto lacks = [](Value factor, Value other, function_ref<bool(StringAttr)> counts) {
      return llvm::any_of(arrayType(other).getDims(), [&](StringAttr dim) {
        return counts(dim) && !arrayType(factor).hasDim(dim);
      });
    };
    auto isKnown = [&](StringAttr dim) { return program.lookupDim(dim).isStatic(); };
    return llvm::any_of(fold.getFactors(), [&](Value rows) {
      return llvm::any_of(fold.getFactors(), [&](Value columns) {
        return lacks(rows, columns, isKnown) &&
               lacks(columns, rows, [](StringAttr) { return true; });
      });
    });
  }

  // True if tiles of `user` would compute `fold`, whose elements go with its stream, again and
  // again for a dim known only at run time that `fold` does not have: a degree more than storing it
  // takes. A value for each pair of positions of two sequences is recomputed all the same.
  bool isRepeatedFor(FoldOp fold, FoldOp user) {
    if (!isStreamFold(user) || (termsOf(fold) <= kFewTerms && !isMatrix(fold)) ||
        !computesFrom(user, fold))
      return false;
    llvm::SmallDenseSet<StringAttr> own = dynamicDims(fold), all;
    for (Value operand : user.termOperands())
      llvm::set_union(all, dynamicDims(operand));
    bool streams =
        llvm::any_of(dimNames(user.getDims()), [&](StringAttr dim) { return own.contains(dim); });
    return streams && !llvm::set_is_subset(all, own) &&
           llvm::set_is_subset(own, streamedWith(user.getDims()));
  }

  // True if the fold has a static dim: products take its tiles from memory.
  bool isMatrix(FoldOp fold) {
    return llvm::any_of(fold.getType().getDims(),
                        [&](StringAttr dim) { return program.lookupDim(dim).isStatic(); });
  }

  // The dims known only at run time that all have that is multiplied and then summed over `dims`,
  // weights and values: those of the stream, and heads, but not the rows.
  llvm::SmallDenseSet<StringAttr> streamedWith(ArrayAttr dims) {
    std::optional<llvm::SmallDenseSet<StringAttr>> shared;
    for (auto fold : program.getBodyBlock()->getOps<FoldOp>())
      if (SmallVector<Value> operands = fold.termOperands();
          fold.getDims() == dims && operands.size() > 1)
        for (Value operand : operands) {
          if (!shared)
            shared = dynamicDims(operand);
          llvm::set_intersect(*shared, dynamicDims(operand));
        }
    return shared.value_or(llvm::SmallDenseSet<StringAttr>());
  }

  llvm::SmallDenseSet<StringAttr> dynamicDims(Value array) {
    llvm::SmallDenseSet<StringAttr> dims;
    for (StringAttr dim : arrayType(array).getDims())
      if (!program.lookupDim(dim).isStatic())
        dims.insert(dim);
    return dims;
  }

  // Of a fold over inner dims.
  int64_t termsOf(FoldOp fold) {
    int64_t count = 1;
    for (StringAttr dim : dimNames(fold.getDims()))
      count *= program.lookupDim(dim).getExtent();
    return count;
  }

  // True if each element of `fold` is needed for one term of `user`: nothing is computed again.
  bool hasAllDims(FoldOp fold, FoldOp user) {
    return llvm::all_of(unionDims(program, user.termOperands()),
                        [&](StringAttr dim) { return fold.getType().hasDim(dim); });
  }

  // True if `fold` depends on `operand` with no stream between them, and no other fold unless
  // `throughInner`.
  bool computesFrom(FoldOp fold, FoldOp operand, bool throughInner = true) {
    llvm::SmallDenseSet<Operation *> seen;
    SmallVector<Operation *> work = {fold};
    while (!work.empty())
      for (Value value : work.pop_back_val()->getOperands()) {
        Operation *op = value.getDefiningOp();
        if (op == operand)
          return true;
        auto other = dyn_cast<FoldOp>(op);
        if (!(other && (!throughInner || isStreamFold(other))) && seen.insert(op).second)
          work.push_back(op);
      }
    return false;
  }

  //===--- placing a fold --------------------------------------------------------------------===//

  int lastPass(FoldOp fold) { return FoldOrder(passes).lastPass(fold); }

  static SmallVector<Value> operandsOf(FoldOp fold) {
    return SmallVector<Value>(fold->getOperands());
  }

  // Dims known only at run time that the folds of a pass are parallel over. One of them may be over
  // fewer: an exponent that all heads share.
  SmallVector<StringAttr> parallelDims(ArrayRef<FoldOp> folds) {
    SmallVector<StringAttr> dims;
    for (FoldOp fold : folds)
      for (StringAttr dim : unionDims(program, operandsOf(fold)))
        if (!program.lookupDim(dim).isStatic() && !llvm::is_contained(fold.getDims(), dim))
          dims.push_back(dim);
    return canonicalDims(program, dims);
  }

  // A pass that comes before another one that the fold reads is put off until then if nothing is in
  // the way: what only the fold needs of it waits with it.
  // `why` says why it is no fold of a tile, if it is over inner dims.
  void place(FoldOp fold, StringRef why = "") {
    int last = lastPass(fold);
    Refusal obstacle, apart;
    for (int id = passes.size() - 1; id >= 0; --id) {
      Pass &pass = passes[id];
      if (pass.stream != dimNames(fold.getDims()))
        continue;
      PassStates states(program, pass);
      if (SmallVector<StringAttr> own = parallelDims(fold), all = parallelDims(pass.states);
          own != all)
        apart = states.whyApart(fold, own, all);
      else if (id < last && !canWait(fold, id))
        apart = states.whyLate(fold, passes[last]);
      else if (hasOtherRows(fold, pass))
        apart = {operationWord(fold).str(), definitionOf(fold), "",
                 "a mask has rows that other folds of the pass lack"};
      else if (hasOtherProducts(fold, pass))
        apart = {operationWord(fold).str(), definitionOf(fold), "",
                 "it sums values of pairs: rows of a product are heads there, and positions here"};
      else if (!isIdleBeside(fold, pass) && join(fold, pass, obstacle)) {
        if (id < last)
          FoldOrder(passes).moveBehind(id, last);
        return;
      }
    }
    if (obstacle.operation.empty())
      obstacle = apart;
    if (obstacle.operation.empty() && !why.empty())
      obstacle = {operationWord(fold).str(), definitionOf(fold), "", why.str()};
    if (last >= 0 && obstacle.operation.empty())
      obstacle = PassStates(program, passes[last]).whyApart(fold);
    start(fold, obstacle);
  }

  // True if neither the fold nor the pass computes anything that the other could use, and each has
  // an inner dim of its own: every element of the one would be walked for each of the other.
  bool isIdleBeside(FoldOp fold, const Pass &pass) {
    auto hasOwn = [&](FoldOp one, FoldOp other) { return !hasDims(other, one); };
    return llvm::all_of(pass.states,
                        [&](FoldOp state) {
                          return hasOwn(fold, state) && hasOwn(state, fold) && !contracts(state);
                        }) &&
           !contracts(fold);
  }

  // True if the fold, or one of the pass, is a sum under a mask for rows that the other has not.
  bool hasOtherRows(FoldOp fold, const Pass &pass) {
    return llvm::any_of(pass.states, [&](FoldOp state) {
      return lacksRowsOf(state, fold) || lacksRowsOf(fold, state);
    });
  }

  // True if one of the fold and the pass sums values of pairs, and the other does not.
  static bool hasOtherProducts(FoldOp fold, const Pass &pass) {
    bool ofPairs = sumsValuesOfPairs(fold);
    return llvm::any_of(pass.states,
                        [&](FoldOp state) { return sumsValuesOfPairs(state) != ofPairs; });
  }

  // True if a mask of `other` has a row for each index of a dim that `fold` lacks.
  bool lacksRowsOf(FoldOp fold, FoldOp other) {
    return llvm::any_of(other.getFactors(), [&](Value factor) {
      return isMask(factor) && llvm::any_of(arrayType(factor).getDims(), [&](StringAttr dim) {
               return program.lookupDim(dim).isStatic() && arrayType(other).hasDim(dim) &&
                      !arrayType(fold).hasDim(dim);
             });
    });
  }

  // True if a contraction of the step is behind the fold.
  bool contracts(FoldOp fold) {
    SmallVector<Value> left(fold->getOperands());
    llvm::SmallDenseSet<Value> seen;
    while (!left.empty()) {
      Value value = left.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      Operation *op = value.getDefiningOp();
      if (auto inner = dyn_cast<FoldOp>(op); inner && !isKept(inner))
        return true;
      if (isa<MapOp>(op))
        llvm::append_range(left, op->getOperands());
    }
    return false;
  }

  // True if some pass has the fold as a state.
  bool isKept(FoldOp fold) {
    return llvm::any_of(passes,
                        [&](const Pass &pass) { return llvm::is_contained(pass.states, fold); });
  }

  // True if the pass can be put off until the fold's operands are known: none of them waits for it.
  bool canWait(FoldOp fold, unsigned pass) {
    FoldOrder order(passes);
    return !order.behind(fold).test(pass) || order.dependsDirectly(fold, pass);
  }

  // Sums over the same inner dims share a pass if one has all the dims of the other: a numerator
  // and its denominator.
  void placeInner(FoldOp fold, StringRef why) {
    int last = lastPass(fold);
    for (int id = passes.size() - 1; id > last; --id) {
      FoldOp other = passes[id].states.front();
      if (passes[id].stream == dimNames(fold.getDims()) &&
          parallelDims(passes[id].states) == parallelDims(fold) &&
          (hasDims(other, fold) || hasDims(fold, other)))
        return keep(fold, passes[id]);
    }
    start(fold, {operationWord(fold).str(), definitionOf(fold), "", why.str()});
  }

  static bool hasDims(FoldOp fold, FoldOp of) {
    return llvm::all_of(of.getType().getDims(),
                        [&](StringAttr dim) { return fold.getType().hasDim(dim); });
  }

  void start(FoldOp fold, const Refusal &obstacle) {
    Pass &pass = passes.emplace_back();
    pass.stream = dimNames(fold.getDims());
    if (!obstacle.operation.empty())
      PassStates(program, pass).recordCut(fold, obstacle);
    keep(fold, pass);
  }

  // Makes a fold that depends on no state of the pass one of its states.
  void keep(FoldOp fold, Pass &pass) {
    if (joinWeights(fold, {program, pass}))
      return;
    pass.states.push_back(fold);
    PassStates(program, pass).recordState(fold);
  }

  bool join(FoldOp fold, Pass &pass, Refusal &obstacle) {
    if (!dependsOn(fold, pass.states)) {
      keep(fold, pass);
      return true;
    }
    Terms terms(program, pass.stream, [&](Value value) { return dependsOn(value, pass.states); });
    bool joined = fold.getKind() == FoldKind::Add ? joinSum(fold, {program, pass}, terms)
                                                  : joinExtremum(fold, {program, pass}, terms);
    if (!joined)
      obstacle = terms.refusal();
    if (!joined && obstacle.operation.empty())
      obstacle = {operationWord(fold).str(), definitionOf(fold), "",
                  "its operation distributes over nothing that a result of the pass could be taken "
                  "out of"};
    return joined;
  }

  ProgramOp program;
  Partition passes;
  llvm::SmallDenseSet<StringAttr> normalised;
  llvm::SmallDenseSet<Operation *> ofPairs;     // whole in a tile, whatever they run over
  SmallVector<FoldOp> unbounded;                // sums of weights behind a stream
  llvm::SmallDenseSet<ArrayAttr> behindStreams; // what some extremum behind a stream runs over
};

} // namespace

void fuseNests(ProgramOp program) {
  flattenNests(program);
  sumSegmentsAsProducts(program);
  shareRowsOfMasks(program);
  sumAsReals(program);
  Partition partition = Fuser(program).run();
  outlineNests(program, partition);
}

} // namespace attnc
