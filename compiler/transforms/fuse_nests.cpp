#include "compiler/transforms/fuse_nests.h"
#include "compiler/transforms/finish_values.h"
#include "compiler/transforms/join_extremum.h"
#include "compiler/transforms/join_sum.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

class Fuser {
public:
  explicit Fuser(ProgramOp program) : program(program) {}

  Partition run() {
    for (FoldOp fold : llvm::to_vector(program.getBodyBlock()->getOps<FoldOp>()))
      if (fold.getKind() == FoldKind::Min)
        turnMinimum(fold);
    SmallVector<FoldOp> folds(program.getBodyBlock()->getOps<FoldOp>());
    findNormalisedDims(folds);
    for (auto [position, fold] : llvm::enumerate(folds))
      if (isPassOfItsOwn(fold, ArrayRef(folds).drop_front(position + 1)))
        start(fold, "");
      else if (isStreamFold(fold))
        place(fold);
    combineInFinish(program, passes);
    eraseUnusedStates(program, passes);
    return std::move(passes);
  }

private:
  //===--- which folds are passes ------------------------------------------------------------===//

  // Static dims that some maximum or minimum runs over are streamed like dynamic ones.
  void findNormalisedDims(ArrayRef<FoldOp> folds) {
    for (FoldOp fold : folds)
      if (fold.getKind() == FoldKind::Max || fold.getKind() == FoldKind::Min)
        for (StringAttr dim : dimNames(fold.getDims()))
          normalised.insert(dim);
  }

  bool isStreamFold(FoldOp fold) {
    return llvm::any_of(dimNames(fold.getDims()), [&](StringAttr dim) {
      return !program.lookupDim(dim).isStatic() || normalised.contains(dim);
    });
  }

  // A fold that stays in tiles is recomputed for each; where that would nest one contraction in
  // another, or would wait for a state only to be stored, its result is a pass's.
  // `later` are the folds behind it; those before it may have been erased.
  bool isPassOfItsOwn(FoldOp fold, ArrayRef<FoldOp> later) {
    if (isStreamFold(fold))
      return false;
    bool feedsInner = llvm::any_of(
        later, [&](FoldOp other) { return !isStreamFold(other) && computesFrom(other, fold); });
    bool streamedLater = llvm::any_of(later, [&](FoldOp other) {
      return isStreamFold(other) && computesFrom(other, fold) &&
             llvm::any_of(dimNames(other.getDims()),
                          [&](StringAttr dim) { return fold.getType().hasDim(dim); });
    });
    return feedsInner || (lastPass(fold) >= 0 && !streamedLater);
  }

  // True if `fold` depends on `operand` with no stream between them.
  bool computesFrom(FoldOp fold, FoldOp operand) {
    llvm::SmallDenseSet<Operation *> seen;
    SmallVector<Operation *> work = {fold};
    while (!work.empty())
      for (Value value : work.pop_back_val()->getOperands()) {
        Operation *op = value.getDefiningOp();
        if (op == operand)
          return true;
        auto other = dyn_cast<FoldOp>(op);
        if (!(other && isStreamFold(other)) && seen.insert(op).second)
          work.push_back(op);
      }
    return false;
  }

  //===--- placing a fold --------------------------------------------------------------------===//

  // The last pass that `value` depends on, or -1.
  int lastPass(Value value) {
    for (int id = passes.size() - 1; id >= 0; --id)
      if (dependsOn(value, passes[id].states))
        return id;
    return -1;
  }

  static SmallVector<Value> operandsOf(FoldOp fold) {
    return SmallVector<Value>(fold->getOperands());
  }

  // Dims known only at run time that the pass is parallel over.
  llvm::SmallDenseSet<StringAttr> parallelDims(FoldOp fold) {
    llvm::SmallDenseSet<StringAttr> dims;
    for (Value operand : operandsOf(fold))
      for (StringAttr dim : arrayType(operand).getDims())
        if (!program.lookupDim(dim).isStatic() && !llvm::is_contained(fold.getDims(), dim))
          dims.insert(dim);
    return dims;
  }

  void place(FoldOp fold) {
    int earliest = std::max(0, lastPass(fold));
    std::string obstacle;
    for (int id = passes.size() - 1; id >= earliest; --id) {
      Pass &pass = passes[id];
      if (pass.stream != dimNames(fold.getDims()) ||
          parallelDims(pass.states.front()) != parallelDims(fold))
        continue;
      if (join(fold, pass, obstacle))
        return;
    }
    start(fold, obstacle);
  }

  void start(FoldOp fold, StringRef obstacle) {
    Pass &pass = passes.emplace_back();
    pass.stream = dimNames(fold.getDims());
    if (!obstacle.empty())
      pass.notes.push_back(obstacle.str());
    if (joinWeights(fold, {program, pass}))
      return;
    pass.states.push_back(fold);
    PassStates(program, pass).noteState(fold);
  }

  bool join(FoldOp fold, Pass &pass, std::string &obstacle) {
    if (!dependsOn(fold, pass.states)) {
      if (joinWeights(fold, {program, pass}))
        return true;
      PassStates(program, pass).noteState(fold);
      pass.states.push_back(fold);
      return true;
    }
    Terms terms(program, pass.stream, [&](Value value) { return dependsOn(value, pass.states); });
    bool joined = fold.getKind() == FoldKind::Add ? joinSum(fold, {program, pass}, terms)
                                                  : joinExtremum(fold, {program, pass}, terms);
    if (!joined)
      obstacle = "`" + nameOf(fold, "a fold") + "` needs another pass over " +
                 listDims(pass.stream) + ": `" + terms.refusal().operation + "` " +
                 terms.refusal().reason;
    return joined;
  }

  ProgramOp program;
  Partition passes;
  llvm::SmallDenseSet<StringAttr> normalised;
};

} // namespace

void fuseNests(ProgramOp program) {
  flattenNests(program);
  Partition partition = Fuser(program).run();
  outlineNests(program, partition);
}

} // namespace attnc
