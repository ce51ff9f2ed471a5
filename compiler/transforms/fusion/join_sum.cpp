#include "compiler/transforms/fusion/join_sum.h"
#include "compiler/transforms/algebra/maxima_gap.h"
#include "compiler/transforms/algebra/scaled_terms.h"
#include "compiler/transforms/algebra/weight_logarithm.h"
#include "compiler/transforms/analysis/finite_factors.h"
#include "compiler/transforms/analysis/growth.h"
#include "compiler/transforms/analysis/infinite_centre.h"
#include "compiler/transforms/analysis/linear_uses.h"
#include "compiler/transforms/analysis/value_ranges.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::derivation::Rule;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

class SumJoiner {
public:
  explicit SumJoiner(PassStates states) : states(states) {}

  bool join(FoldOp fold, Terms &terms) {
    states.joined = fold;
    const ScalarExpr *product = nullptr;
    for (Value factor : fold.getFactors()) {
      const ScalarExpr *e = terms.of(factor);
      product = product ? terms.binary(ScalarExpr::Kind::Mul, product, e) : e;
    }
    std::optional<SmallVector<Term>> split = terms.split(product);
    if (!split)
      return false;
    if (!llvm::all_of(*split,
                      [&](const Term &term) { return isConstant(term) || coversStream(term); })) {
      terms.refuse("sum",
                   "a term varies along some of the streamed dims only, and would be counted "
                   "too rarely");
      return false;
    }
    for (const Term &term : *split)
      if (term.differences.size() > 1 && !haveOneSign(term.factors) &&
          llvm::any_of(term.differences, [&](const Difference &d) { return hasSum(d.centre); })) {
        terms.refuse(term.differences.front().centre,
                     "the squares of differences from it are weighed by values whose sign is not "
                     "proven, so that it may run far away from where it ends");
        return false;
      }
    // Weights that come to 0 are none, or the squares would be weighed all the same.
    for (const Term &term : *split)
      if (isGuarded(term) && !term.exponent && term.differences.size() > 1 &&
          !haveOneSign(term.factors) && llvm::any_of(term.differences, [&](const Difference &d) {
            return reachOf(terms, d.centre) != Reach::Finite;
          })) {
        terms.refuse(term.differences.front().centre,
                     "a condition may leave out a whole row, where it is not proven finite");
        return false;
      }
    for (const Term &term : *split)
      for (const Difference &difference : term.differences)
        if (!isComputedFromStates(difference.centre)) {
          terms.refuse(difference.centre, "the centre of a moment has to follow from sums and "
                                          "extrema of the pass, element by element");
          return false;
        }
    // With a centre that is known, a sum of such products is one of matrices.
    for (const Term &term : *split)
      if (term.differences.size() == 1 && isWiderThan(fold, term.differences.front().base)) {
        terms.refuse(
            term.differences.front().centre,
            "it would be a moment for each element of a row, where another pass multiplies "
            "matrices");
        return false;
      }
    OpBuilder b(fold);
    SmallVector<const ScalarExpr *> parts;
    for (auto [number, term] : llvm::enumerate(*split)) {
      if (split->size() > 1)
        termNumber = std::to_string(number + 1) + " of " + std::to_string(split->size());
      parts.push_back(finishTerm(b, fold, terms, term));
    }
    for (Rule rule : terms.used())
      states.record(rule, fold);
    const ScalarExpr *sum = terms.sum(parts), *total = combineExponents(terms, sum);
    if (total != sum)
      states.record(Rule::CombinedExponents, fold, {{"value", specTextOf(total)}});
    if (isUndefinedOverNothing(terms, *split, total))
      total = unlessEmpty(b, fold.getLoc(), terms, states.program, states.pass.stream, total);
    replaceFold(fold, terms.build(b, fold.getLoc(), total));
    return true;
  }

private:
  // True if the fold has elements along a static dim that `e` does not vary with.
  bool isWiderThan(FoldOp fold, const ScalarExpr *e) {
    llvm::SetVector<Value> leaves = leavesOf(e);
    return llvm::any_of(arrayType(fold).getDims(), [&](StringAttr dim) {
      return states.program.lookupDim(dim).isStatic() &&
             llvm::none_of(leaves, [&](Value leaf) { return arrayType(leaf).hasDim(dim); });
    });
  }

  // A sum over nothing is 0, whatever its terms would be multiplied by.
  bool isUndefinedOverNothing(Terms &terms, ArrayRef<Term> split, const ScalarExpr *total) {
    return llvm::any_of(split, [](const Term &term) { return !term.differences.empty(); }) ||
           llvm::any_of(states.pass.stream, [&](StringAttr dim) {
             return !states.program.lookupDim(dim).isStatic() &&
                    !isZeroOverNothing(terms, total, dim);
           });
  }

  static bool isConstant(const Term &term) {
    return term.factors.empty() && !term.exponent && term.differences.empty();
  }

  // True if the product of `factors` is proven to have one sign: those that are there twice are
  // squares.
  static bool haveOneSign(ArrayRef<const ScalarExpr *> factors) {
    SmallVector<const ScalarExpr *> single;
    for (const ScalarExpr *factor : factors) {
      auto twin = llvm::find_if(
          single, [&](const ScalarExpr *other) { return sameExpression(factor, other); });
      if (twin != single.end())
        single.erase(twin);
      else if (signOf(factor) == Sign::Unknown)
        single.push_back(factor);
    }
    return single.empty();
  }

  // True if a sum of the pass is in `centre`.
  bool hasSum(const ScalarExpr *centre) {
    return llvm::any_of(states.pass.states, [&](FoldOp state) {
      return state.getKind() == FoldKind::Add &&
             llvm::any_of(leavesOf(centre), [&](Value leaf) { return dependsOn(leaf, state); });
    });
  }

  // While the stream goes by, a centre is computed from the running states: element by element, and
  // not from other moments, which move when their own centres have.
  bool isComputedFromStates(const ScalarExpr *centre) {
    llvm::SmallDenseSet<Value> seen;
    SmallVector<Value> work(leavesOf(centre).takeVector());
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || !seen.insert(value).second || !dependsOn(value, states.pass.states))
        continue;
      auto fold = dyn_cast<FoldOp>(op);
      bool isState = fold && llvm::is_contained(states.pass.states, fold);
      if (isState ? bool(fold.getBase()) : !isa<MapOp>(op))
        return false;
      if (!isState)
        llvm::append_range(work, op->getOperands());
    }
    return true;
  }

  // Each streamed dim has to occur in the term, or the fold would forget to count it: in its
  // exponent, of which there is a maximum over the stream, and in what weighs a moment, which is
  // summed alone as well.
  bool coversStream(const Term &term) {
    if (term.exponent && !haveStream(term.exponent))
      return false;
    SmallVector<const ScalarExpr *> parts(term.factors.begin(), term.factors.end());
    if (term.exponent)
      parts.push_back(term.exponent);
    if (parts.empty())
      for (const Difference &difference : term.differences)
        parts.push_back(difference.base);
    return haveStream(parts);
  }

  bool haveStream(ArrayRef<const ScalarExpr *> parts) {
    llvm::SmallDenseSet<StringAttr> dims;
    for (Value leaf : leavesOf(parts))
      dims.insert(arrayType(leaf).getDims().begin(), arrayType(leaf).getDims().end());
    return llvm::all_of(states.pass.stream, [&](StringAttr dim) { return dims.contains(dim); });
  }

  // True if the factors depend on no states but the reference and sums of its weights: the inverse
  // of another sum may be as large as what a mask leaves is small.
  bool isBounded(ArrayRef<const ScalarExpr *> factors, FoldOp reference) {
    return llvm::all_of(states.pass.states, [&](FoldOp state) {
      return state == reference || state.getReference() == reference.getResult() ||
             llvm::none_of(leavesOf(factors), [&](Value leaf) { return dependsOn(leaf, state); });
    });
  }

  // Weights exp(a - max a) that the pass has without the mask of these: that is a factor then, and
  // there is one reference and one exponential for both. What the mask leaves may be small beside
  // max a, so nothing may ask how small.
  void takeMaskAsFactor(OpBuilder &b, FoldOp fold, Terms &terms, Term &term) {
    const ScalarExpr *masked = term.exponent;
    if (!masked || masked->kind != ScalarExpr::Kind::Select || term.vanishes ||
        !term.differences.empty() || term.condition || term.shift.size() != 1)
      return;
    auto isEmpty = [](const ScalarExpr *e) {
      return e->kind == ScalarExpr::Kind::Constant && e->constant == -INFINITY;
    };
    unsigned side = isEmpty(masked->args[2]) ? 1 : 2;
    const ScalarExpr *shift = term.shift.front();
    if (!isEmpty(masked->args[3 - side]) || shift->kind != ScalarExpr::Kind::Neg ||
        !shift->args[0]->leaf || !haveStream(masked->args[side]))
      return;
    Value exponent = terms.build(b, fold.getLoc(), masked->args[side]);
    auto reference = shift->args[0]->leaf.getDefiningOp<FoldOp>();
    if (!reference || !llvm::is_contained(states.pass.states, reference) ||
        reference.getKind() != FoldKind::Max || reference.getFactors().front() != exponent ||
        !isBounded(term.outer, reference) || !isUsedLinearly(fold))
      return;
    const ScalarExpr *one = terms.constant(masked->type, 1);
    term.exponent = masked->args[side];
    term.factors.insert(term.factors.begin(), terms.guarded(masked->args[0], side == 1, one, 0));
    states.record(Rule::MaskFactor, fold, {{"a", specTextOf(term.exponent)}});
  }

  // The state of a term, and what it contributes to the fold's value after the stream.
  const ScalarExpr *finishTerm(OpBuilder &b, FoldOp fold, Terms &terms, Term term) {
    if (isConstant(term))
      return finishConstant(b, fold, terms, term);
    takeMaskAsFactor(b, fold, terms, term);
    SmallVector<Value> factors;
    for (const ScalarExpr *factor : term.factors)
      llvm::append_range(factors, productFactors(b, terms.build(b, fold.getLoc(), factor)));
    Value exponent, reference;
    size_t before = states.pass.states.size();
    if (term.exponent) {
      exponent = terms.build(b, namedAfter(fold, "_exponent", fold.getLoc()), term.exponent);
      reference = states.runningMax(b, exponent);
    }
    bool isNew = states.pass.states.size() > before;
    if (factors.empty() && !exponent) // a sum of what its differences alone make
      factors.push_back(states.ones(b, fold));
    Value sum = states.makeState(b, FoldKind::Add, factors, exponent, reference, fold.getLoc());
    recordTerm(fold, term, sum);
    if (reference)
      recordReference(fold, term, reference, isNew);
    const ScalarExpr *value = terms.leaf(sum);
    if (!term.differences.empty())
      value = finishMoments(b, fold, terms, term, cast<FoldOp>(sum.getDefiningOp()));
    SmallVector<const ScalarExpr *> late(term.outer.begin(), term.outer.end());
    if (const ScalarExpr *weight = leftoverWeight(fold, terms, term, reference)) {
      value = terms.binary(ScalarExpr::Kind::Mul, value, weight);
      late.push_back(weight);
    }
    for (const ScalarExpr *factor : term.outer)
      value = applyOuter(terms, value, factor);
    if (!late.empty())
      states.record(Rule::Deferred, fold,
                    {{"B", specTextOfProduct(late)}, {"dims", listDims(states.pass.stream)}});
    if (term.condition)
      value = whereWeighted(b, fold, terms, term, value);
    if (term.vanishes && reference)
      value = terms.whereWeighted(terms.leaf(reference), value);
    return value;
  }

  void recordReference(FoldOp fold, const Term &term, Value reference, bool isNew) {
    std::map<std::string, std::string> details = {{"a", specTextOf(term.exponent)},
                                                  {"reference", specTextOf(reference)}};
    states.record(isNew ? Rule::OwnMaximum : Rule::SharedExponent, fold, details);
    states.record(Rule::Rescaled, fold, details);
  }

  void recordTerm(FoldOp fold, const Term &term, Value sum) {
    std::map<std::string, std::string> details = {{"state", definitionOf(sum)}};
    if (!termNumber.empty())
      details["number"] = termNumber;
    if (!term.factors.empty())
      details["C"] = specTextOfProduct(term.factors);
    if (term.exponent)
      details["a"] = specTextOf(term.exponent);
    if (!term.shift.empty())
      details["b"] = specTextOfSum(term.shift);
    if (!term.outer.empty())
      details["B"] = specTextOfProduct(term.outer);
    states.record(Rule::Term, fold, std::move(details));
  }

  // A term that does not vary along the stream counts its elements.
  const ScalarExpr *finishConstant(OpBuilder &b, FoldOp fold, Terms &terms, const Term &term) {
    Type element = fold.getType().getElementType();
    const ScalarExpr *value = nullptr;
    for (StringAttr dim : states.pass.stream) {
      auto none = attn::ArrayType::get(b.getContext(), {}, b.getI64Type());
      Value size = SizeOp::create(b, fold.getLoc(), none, dim);
      Value count =
          MapOp::create(b, fold.getLoc(), attn::ArrayType::get(b.getContext(), {}, element), size,
                        [&](OpBuilder &inner, Location at, ValueRange x) -> Value {
                          return arith::SIToFPOp::create(inner, at, element, x[0]);
                        });
      const ScalarExpr *factor = terms.leaf(count);
      value = value ? terms.binary(ScalarExpr::Kind::Mul, value, factor) : factor;
    }
    for (const ScalarExpr *factor : term.outer)
      value = applyOuter(terms, value, factor);
    states.record(Rule::Counted, fold,
                  {{"B", specTextOfProduct(term.outer)}, {"dims", listDims(states.pass.stream)}});
    return value;
  }

  // `e`, or 0 over a row of which every weight is left out, if there may be such a row: there
  // nothing is what an infinite centre would be multiplied by.
  static const ScalarExpr *overWeights(Terms &terms, const Term &term, FoldOp sum,
                                       const ScalarExpr *e) {
    const ScalarExpr *combined = combineExponents(terms, e);
    if (!isGuarded(term))
      return combined;
    if (sum.getReference())
      return terms.whereWeighted(terms.leaf(sum.getReference()), combined);
    return reachOf(terms, combined) == Reach::Finite
               ? combined
               : terms.guarded(terms.leaf(isZero(sum)), false, combined, 0);
  }

  static bool isGuarded(const Term &term) {
    return llvm::any_of(term.differences, [](const Difference &d) { return d.guarded; });
  }

  // The sum of what weighs the differences, compared with 0.
  static Value isZero(FoldOp sum) {
    OpBuilder b(sum);
    b.setInsertionPointAfter(sum);
    auto type = attn::ArrayType::get(b.getContext(), arrayType(sum).getDims(), b.getI1Type());
    return MapOp::create(
        b, sum.getLoc(), type, sum.getResult(),
        [](OpBuilder &inner, Location at, ValueRange x) -> Value {
          Value zero = arith::ConstantOp::create(inner, at, inner.getFloatAttr(x[0].getType(), 0));
          return arith::CmpFOp::create(inner, at, arith::CmpFPredicate::OEQ, x[0], zero);
        });
  }

  // The moments up to `degree` about `centre`, whatever that is while the stream goes by; `value`
  // is its array.
  SmallVector<Value> makeMoments(OpBuilder &b, FoldOp fold, Terms &terms, const Term &term,
                                 FoldOp sum, const ScalarExpr *base, const ScalarExpr *centre,
                                 Value value) {
    Value x = terms.build(b, fold.getLoc(), base);
    SmallVector<Value> moments = {sum};
    for (size_t degree = 1; degree <= term.differences.size(); ++degree)
      moments.push_back(states.makeMoment(b, sum, x, value, moments, fold.getLoc()));
    states.record(Rule::Moment, fold,
                  {{"x", specTextOf(base)},
                   {"g", specTextOf(centre)},
                   {"degree", std::to_string(term.differences.size())}});
    return moments;
  }

  Value buildCentre(OpBuilder &b, FoldOp fold, Terms &terms, const Term &term, FoldOp sum,
                    const ScalarExpr *centre) {
    return terms.build(b, namedAfter(fold, "_centre", fold.getLoc()),
                       overWeights(terms, term, sum, centre));
  }

  // sum of w * (x - g): a moment about g; of w * (x - g) * (x - h): the second one about g, and
  // (g - h) times the first.
  const ScalarExpr *finishMoments(OpBuilder &b, FoldOp fold, Terms &terms, const Term &term,
                                  FoldOp sum) {
    Value reference = sum.getReference();
    if (auto logarithm = logarithmOfWeight(
            terms, term, reference ? reference.getDefiningOp<FoldOp>() : FoldOp()))
      return finishLogarithm(b, fold, terms, term, sum, *logarithm);
    const Difference &first = term.differences.front(), &last = term.differences.back();
    Value centre = buildCentre(b, fold, terms, term, sum, first.centre);
    if (term.differences.size() == 1 && mayBeInfiniteBeside(terms, first.centre, sum)) {
      MomentAboutInfinity about(states.program, b, fold.getLoc(), centre);
      SmallVector<Value> moments =
          makeMoments(b, fold, terms, term, sum, first.base, first.centre, about.finiteCentre());
      return terms.leaf(about.corrected(moments.back(), sum));
    }
    SmallVector<Value> moments =
        makeMoments(b, fold, terms, term, sum, first.base, first.centre, centre);
    const ScalarExpr *value = terms.leaf(moments.back());
    if (term.differences.size() == 1 || sameExpression(first.centre, last.centre))
      return value;
    const ScalarExpr *gap = terms.binary(ScalarExpr::Kind::Sub, first.centre, last.centre);
    return terms.binary(ScalarExpr::Kind::Add, value,
                        terms.binary(ScalarExpr::Kind::Mul, terms.leaf(moments[1]),
                                     overWeights(terms, term, sum, gap)));
  }

  // sum of w * (x - g) where g is the maximum of the weights' exponent and a rest: the moment about
  // the maximum, whose differences have no more digits than they need, and the rest times the sum.
  const ScalarExpr *finishLogarithm(OpBuilder &b, FoldOp fold, Terms &terms, const Term &term,
                                    FoldOp sum, const WeightLogarithm &logarithm) {
    const ScalarExpr *max = terms.leaf(sum.getReference());
    SmallVector<Value> moments = makeMoments(b, fold, terms, term, sum, logarithm.base, max,
                                             buildCentre(b, fold, terms, term, sum, max));
    const ScalarExpr *value = terms.leaf(moments.back());
    if (logarithm.factor) {
      SmallVector<Value> factors(sum.getFactors());
      factors.push_back(terms.build(b, fold.getLoc(), logarithm.factor));
      Value rest = states.makeState(b, FoldKind::Add, factors, sum.getExponent(),
                                    sum.getReference(), fold.getLoc());
      value = terms.binary(ScalarExpr::Kind::Add, value, terms.leaf(rest));
    }
    if (!logarithm.shift)
      return value;
    states.record(Rule::Deferred, fold,
                  {{"B", specTextOf(logarithm.shift)}, {"dims", listDims(states.pass.stream)}});
    return terms.binary(ScalarExpr::Kind::Add, value,
                        terms.binary(ScalarExpr::Kind::Mul, terms.leaf(sum),
                                     overWeights(terms, term, sum, logarithm.shift)));
  }

  // `value` where the weights' sum passes the test that the term puts to each weight, else 0.
  const ScalarExpr *whereWeighted(OpBuilder &b, FoldOp fold, Terms &terms, const Term &term,
                                  const ScalarExpr *value) {
    states.record(Rule::WeightTest, fold);
    const ScalarExpr *weight = finishTerm(b, fold, terms, *term.weight);
    weight = combineExponents(terms, weight);
    const ScalarExpr *test = terms.withArgs(term.condition, {weight, term.condition->args[1]});
    return terms.guarded(test, term.countsWhere, value, 0);
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
  const ScalarExpr *leftoverWeight(FoldOp fold, Terms &terms, const Term &term, Value reference) {
    if (!reference)
      return nullptr;
    SmallVector<const ScalarExpr *> rest;
    llvm::append_range(rest, term.shift);
    auto isReference = [&](const ScalarExpr *part) {
      return part->kind == ScalarExpr::Kind::Neg && part->args[0]->leaf == reference;
    };
    auto found = llvm::find_if(rest, isReference);
    bool cancelled = found != rest.end();
    if (cancelled)
      rest.erase(found);
    else
      cancelled = cancelMaximum(fold, terms, term, rest);
    bool onlyConstants = llvm::all_of(rest, [](const ScalarExpr *part) { return part->neutral(); });
    if (cancelled && onlyConstants)
      return rest.empty() ? nullptr : terms.exp(terms.sum(rest));
    // As a subtraction from m, so that a row without keys (m = -inf) weighs 0 whatever b is.
    const ScalarExpr *max = terms.leaf(reference);
    if (cancelled)
      max = terms.binary(ScalarExpr::Kind::Sub, max, max);
    else if (const ScalarExpr *gap =
                 takeMaxima(terms, cast<FoldOp>(reference.getDefiningOp()), rest))
      max = gap;
    const ScalarExpr *shift = rest.empty() ? nullptr : terms.neg(terms.sum(rest));
    return terms.exp(shift ? terms.binary(ScalarExpr::Kind::Sub, max, shift) : max);
  }

  // The maximum of a growing f(x) is f(max x): true if `rest` has -f(max x), which is then taken
  // out.
  bool cancelMaximum(FoldOp fold, Terms &terms, const Term &term,
                     SmallVectorImpl<const ScalarExpr *> &rest) {
    SmallVector<const ScalarExpr *> along;
    if (!sumParts(term.exponent, false, terms, along))
      return false;
    for (FoldOp state : states.pass.states) {
      if (state.getKind() != FoldKind::Max || !growsWith(along, state.getFactors().front()))
        continue;
      SmallVector<const ScalarExpr *> left(rest.begin(), rest.end());
      bool all = llvm::all_of(along, [&](const ScalarExpr *part) {
        const ScalarExpr *opposite =
            terms.neg(substitute(terms, part, state.getFactors().front(), state));
        auto found =
            llvm::find_if(left, [&](const ScalarExpr *x) { return sameExpression(x, opposite); });
        if (found == left.end())
          return false;
        left.erase(found);
        return true;
      });
      if (!all)
        continue;
      rest.assign(left.begin(), left.end());
      states.record(Rule::CancelledMaximum, fold,
                    {{"shift", specTextOfSum(term.shift)}, {"a", specTextOf(term.exponent)}});
      return true;
    }
    return false;
  }

  PassStates states;
  std::string termNumber; // of the term that is being finished, where there are several
};

} // namespace

bool joinSum(FoldOp fold, PassStates states, Terms &terms) {
  return SumJoiner(states).join(fold, terms);
}

// A sum of exponentials that nothing bounds takes the form of terms, also where it depends on no
// state: each exponential relative to its own running maximum.
bool joinWeights(FoldOp fold, PassStates states) {
  if (fold.getKind() != FoldKind::Add || fold.getExponent() ||
      !isa<FloatType>(fold.getType().getElementType()))
    return false;
  Terms terms(states.program, states.pass.stream,
              [&](Value value) { return dependsOn(value, states.pass.states); });
  bool weighted = llvm::any_of(fold.getFactors(),
                               [&](Value factor) { return terms.hasWeight(terms.of(factor)); });
  return weighted && joinSum(fold, states, terms);
}

} // namespace attnc
