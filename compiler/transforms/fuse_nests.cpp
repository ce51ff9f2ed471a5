#include "compiler/transforms/fuse_nests.h"
#include "compiler/transforms/fold_form.h"
#include "compiler/transforms/partition.h"
#include "compiler/transforms/terms.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

std::string listDims(ArrayRef<StringAttr> dims) {
  std::string text;
  for (StringAttr dim : dims)
    text += (text.empty() ? "" : ", ") + dim.getValue().str();
  return text;
}

std::string nameOf(Value value, StringRef otherwise) {
  StringRef name = specName(value.getLoc());
  return name.empty() ? otherwise.str() : name.str();
}

class Fuser {
public:
  explicit Fuser(ProgramOp program) : program(program) {}

  Partition run() {
    SmallVector<FoldOp> folds(program.getBodyBlock()->getOps<FoldOp>());
    findNormalisedDims(folds);
    for (auto [position, fold] : llvm::enumerate(folds))
      if (isPassOfItsOwn(fold, ArrayRef(folds).drop_front(position + 1)))
        start(fold, "");
      else if (isStreamFold(fold))
        place(fold);
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
    Pass pass{dimNames(fold.getDims()), {fold}, {}};
    if (!obstacle.empty())
      pass.notes.push_back(obstacle.str());
    noteState(pass, fold);
    passes.push_back(std::move(pass));
  }

  bool join(FoldOp fold, Pass &pass, std::string &obstacle) {
    if (!dependsOn(fold, pass.states)) {
      noteState(pass, fold);
      pass.states.push_back(fold);
      return true;
    }
    Terms terms(program, pass.stream, [&](Value value) { return dependsOn(value, pass.states); });
    bool joined = fold.getKind() == FoldKind::Add ? joinSum(fold, pass, terms)
                                                  : joinExtremum(fold, pass, terms);
    if (!joined)
      obstacle = "`" + nameOf(fold, "a fold") + "` needs another pass over " +
                 listDims(pass.stream) + ": `" + terms.refusal().operation + "` " +
                 terms.refusal().reason;
    return joined;
  }

  //===--- the rewrite -----------------------------------------------------------------------===//

  // max over x of a(x) + b(g) is (max a) + b(g).
  bool joinExtremum(FoldOp fold, Pass &pass, Terms &terms) {
    if (fold.getKind() != FoldKind::Max && fold.getKind() != FoldKind::Min)
      return false;
    std::optional<Term> term = terms.splitSum(terms.of(fold.getFactors().front()));
    if (!term)
      return false;
    OpBuilder b(fold);
    Value along = terms.build(b, fold.getLoc(), term->exponent);
    Value state = makeState(b, pass, fold.getKind(), {along}, Value(), Value(), fold.getLoc());
    // As a subtraction, so that over a row without keys (max = -inf) it stays -inf.
    const ScalarExpr *total = terms.leaf(state);
    if (!term->shift.empty())
      total = terms.binary(ScalarExpr::Kind::Sub, total, terms.neg(terms.sum(term->shift)));
    pass.notes.push_back("`" + nameOf(fold, "a fold") + "`: what does not vary along " +
                         listDims(pass.stream) +
                         " is added after the stream (max and min commute "
                         "with adding a constant)");
    replace(fold, terms.build(b, fold.getLoc(), total));
    return true;
  }

  bool joinSum(FoldOp fold, Pass &pass, Terms &terms) {
    const ScalarExpr *product = nullptr;
    for (Value factor : fold.getFactors()) {
      const ScalarExpr *e = terms.of(factor);
      product = product ? terms.binary(ScalarExpr::Kind::Mul, product, e) : e;
    }
    std::optional<SmallVector<Term>> split = terms.split(product);
    if (!split)
      return false;
    if (!llvm::all_of(*split, [&](const Term &term) { return coversStream(term, pass); })) {
      terms.refuse("a term of the sum", "does not vary along the stream");
      return false;
    }
    OpBuilder b(fold);
    SmallVector<const ScalarExpr *> parts;
    for (const Term &term : *split)
      parts.push_back(finishTerm(b, fold, pass, terms, term));
    replace(fold, terms.build(b, fold.getLoc(), terms.sum(parts)));
    return true;
  }

  // Each streamed dim has to occur in the term, or the fold would forget to count it.
  static bool coversStream(const Term &term, const Pass &pass) {
    SmallVector<const ScalarExpr *> parts(term.factors);
    if (term.exponent)
      parts.push_back(term.exponent);
    llvm::SmallDenseSet<StringAttr> dims;
    for (Value leaf : leavesOf(parts))
      dims.insert(arrayType(leaf).getDims().begin(), arrayType(leaf).getDims().end());
    return llvm::all_of(pass.stream, [&](StringAttr dim) { return dims.contains(dim); });
  }

  // The state of a term, and what it contributes to the fold's value after the stream.
  const ScalarExpr *finishTerm(OpBuilder &b, FoldOp fold, Pass &pass, Terms &terms,
                               const Term &term) {
    SmallVector<Value> factors;
    for (const ScalarExpr *factor : term.factors)
      llvm::append_range(factors, productFactors(b, terms.build(b, fold.getLoc(), factor)));
    Value exponent, reference;
    if (term.exponent) {
      exponent =
          terms.build(b, renamed(fold.getLoc(), nameOf(fold, "term") + "_exponent"), term.exponent);
      reference = runningMax(b, pass, exponent);
    }
    Value sum = makeState(b, pass, FoldKind::Add, factors, exponent, reference, fold.getLoc());
    const ScalarExpr *value = terms.leaf(sum);
    if (const ScalarExpr *weight = leftoverWeight(terms, term, reference))
      value = terms.binary(ScalarExpr::Kind::Mul, value, weight);
    for (const ScalarExpr *factor : term.outer)
      value = applyOuter(terms, value, factor);
    noteTerm(pass, fold, term, exponent, reference);
    return value;
  }

  static const ScalarExpr *applyOuter(Terms &terms, const ScalarExpr *value,
                                      const ScalarExpr *factor) {
    bool inverse = factor->kind == ScalarExpr::Kind::Div &&
                   factor->args[0]->kind == ScalarExpr::Kind::Constant &&
                   factor->args[0]->constant == 1;
    return inverse ? terms.binary(ScalarExpr::Kind::Div, value, factor->args[1])
                   : terms.binary(ScalarExpr::Kind::Mul, value, factor);
  }

  // exp(m + b(g)), or null where m cancels and nothing is left: the usual case, b = -m.
  static const ScalarExpr *leftoverWeight(Terms &terms, const Term &term, Value reference) {
    if (!reference)
      return nullptr;
    SmallVector<const ScalarExpr *> rest;
    bool cancelled = false;
    for (const ScalarExpr *part : term.shift) {
      bool isReference = part->kind == ScalarExpr::Kind::Neg && part->args[0]->leaf == reference;
      if (isReference && !cancelled)
        cancelled = true;
      else
        rest.push_back(part);
    }
    bool onlyConstants = llvm::all_of(rest, [](const ScalarExpr *part) { return part->neutral(); });
    if (cancelled && onlyConstants)
      return rest.empty() ? nullptr : terms.exp(terms.sum(rest));
    // As a subtraction from m, so that a row without keys (m = -inf) weighs 0 whatever b is.
    const ScalarExpr *shift = term.shift.empty() ? nullptr : terms.neg(terms.sum(term.shift));
    const ScalarExpr *max = terms.leaf(reference);
    return terms.exp(shift ? terms.binary(ScalarExpr::Kind::Sub, max, shift) : max);
  }

  Value runningMax(OpBuilder &b, Pass &pass, Value exponent) {
    for (FoldOp state : pass.states)
      if (state.getKind() == FoldKind::Max && state.getFactors().front() == exponent)
        return state;
    return makeState(b, pass, FoldKind::Max, {exponent}, Value(), Value(),
                     renamed(exponent.getLoc(), nameOf(exponent, "exponent") + "_max"));
  }

  Value makeState(OpBuilder &b, Pass &pass, FoldKind kind, ArrayRef<Value> factors, Value exponent,
                  Value reference, Location loc) {
    SmallVector<Value> arrays(factors);
    if (exponent)
      arrays.push_back(exponent);
    SmallVector<StringAttr> dims;
    for (StringAttr dim : unionDims(program, arrays))
      if (!llvm::is_contained(pass.stream, dim))
        dims.push_back(dim);
    auto type =
        attn::ArrayType::get(b.getContext(), dims, arrayType(arrays.front()).getElementType());
    auto state =
        FoldOp::create(b, loc, type, kind, b.getArrayAttr({pass.stream.begin(), pass.stream.end()}),
                       factors, exponent, reference);
    for (FoldOp known : pass.states)
      if (OperationEquivalence::isEquivalentTo(known, state,
                                               OperationEquivalence::IgnoreLocations)) {
        state.erase();
        return known;
      }
    pass.states.push_back(state);
    return state;
  }

  static void replace(FoldOp fold, Value value) {
    fold.getResult().replaceAllUsesWith(value);
    fold.erase();
  }

  //===--- notes -----------------------------------------------------------------------------===//

  void noteState(Pass &pass, FoldOp fold) {
    pass.notes.push_back("`" + nameOf(fold, "a fold") +
                         "`: " + red::stringifyFoldKind(fold.getKind()).str() + " over " +
                         listDims(dimNames(fold.getDims())) +
                         ", kept as a running value (the fold is associative)");
  }

  void noteTerm(Pass &pass, FoldOp fold, const Term &term, Value exponent, Value reference) {
    std::string name = nameOf(fold, "a fold");
    if (reference)
      pass.notes.push_back(
          "`" + name + "`: sums weights exp(" + nameOf(exponent, "x") + " - " +
          nameOf(reference, "max") + "), rescaled by exp(old - new) when the maximum " +
          "moves (exp turns the sum into a product, and the product distributes over +)");
    else
      pass.notes.push_back("`" + name + "`: its sum over " + listDims(pass.stream) +
                           " is a running value");
    if (!term.outer.empty())
      pass.notes.push_back("`" + name + "`: factors that do not vary along " +
                           listDims(pass.stream) +
                           " are applied once, after the stream (* distributes over +)");
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
