#include "compiler/transforms/fusion/join_extremum.h"
#include "compiler/transforms/algebra/maxima_gap.h"
#include "compiler/transforms/analysis/value_ranges.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "dialects/Attn/ScalarProperties.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;
using attnc::derivation::Rule;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

class ExtremumJoiner {
public:
  explicit ExtremumJoiner(PassStates states) : states(states) {}

  bool join(FoldOp fold, Terms &terms) {
    if (fold.getKind() != FoldKind::Max && fold.getKind() != FoldKind::Min)
      return false;
    OpBuilder b(fold);
    bool isMax = fold.getKind() == FoldKind::Max;
    const ScalarExpr *e = terms.of(fold.getFactors().front());
    if (!isMonotone(terms, e))
      return false;
    const ScalarExpr *value = extremum(b, fold, terms, e, isMax);
    // f of the identity is not the identity, and inf + b is not where b is -inf.
    if ((!isMax && e->state) || !terms.splitSum(e))
      value = terms.guarded(terms.leaf(hasElements(b, fold)), true, value,
                            isMax ? -INFINITY : INFINITY);
    replaceFold(fold, terms.build(b, fold.getLoc(), value));
    return true;
  }

private:
  // True unless a streamed dim has no index.
  Value hasElements(OpBuilder &b, FoldOp fold) {
    SmallVector<Value> sizes;
    auto type = [&](Type element) { return attn::ArrayType::get(b.getContext(), {}, element); };
    for (StringAttr dim : states.pass.stream)
      sizes.push_back(SizeOp::create(b, fold.getLoc(), type(b.getI64Type()), dim));
    return MapOp::create(
        b, fold.getLoc(), type(b.getI1Type()), sizes,
        [](OpBuilder &inner, Location at, ValueRange x) -> Value {
          Value count = x[0];
          for (Value size : x.drop_front())
            count = arith::MulIOp::create(inner, at, count, size);
          Value zero = arith::ConstantOp::create(inner, at, inner.getI64IntegerAttr(0));
          return arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ne, count, zero);
        });
  }

  // As the op declares it; of what the compiler has put together, as the algebra does.
  static Growth growthOf(const ScalarExpr *e, unsigned position, ArrayRef<Sign> signs) {
    if (auto properties = dyn_cast_or_null<ScalarProperties>(e->op))
      return properties.growth(position, signs);
    return e->kind == ScalarExpr::Kind::Mul ? growthWithFactor(signs[1 - position])
                                            : Growth::Unknown;
  }

  // The argument of `e` along the stream, which it is proven to grow with, or to fall (`falls`), or
  // null.
  static const ScalarExpr *monotoneArgument(Terms &terms, const ScalarExpr *e, unsigned &position,
                                            bool &falls) {
    position = 0;
    falls = e->kind == ScalarExpr::Kind::Neg;
    if (falls)
      return e->args[0];
    if (e->leaf)
      terms.refuse(e, "it has no form that grows or falls with what varies along the stream");
    if (llvm::count_if(e->args, [](auto *arg) { return arg->stream; }) != 1)
      return nullptr;
    position = llvm::find_if(e->args, [](auto *arg) { return arg->stream; }) - e->args.begin();
    SmallVector<Sign> signs;
    for (const ScalarExpr *arg : e->args)
      signs.push_back(signOf(arg));
    Growth growth = growthOf(e, position, signs);
    falls = growth == Growth::Falls;
    if (growth != Growth::Unknown)
      return e->args[position];
    std::string operand = specTextOf(e->args[position]);
    if (e->args.size() == 2)
      terms.refuse(e, "the sign of `" + specTextOf(e->args[1 - position]) +
                          "` is not proven, so neither that it grows nor that it falls with `" +
                          operand +
                          "`; proven are exp, abs, squares, and params declared `f32 > 0`");
    else
      terms.refuse(e, "it is not declared to grow or to fall with `" + operand + "`");
    return nullptr;
  }

  // A product of several values along the stream and of results as C(x) B(g), which grows or falls
  // with C; else null. With a weight exp(a(x)) among the values it has no state: exp(a) alone is in
  // no range, and of exp(a + log C) a large a leaves few digits of C.
  const ScalarExpr *regrouped(Terms &terms, const ScalarExpr *e) const {
    using Kind = ScalarExpr::Kind;
    if ((e->kind != Kind::Mul && e->kind != Kind::Div) || !e->args[0]->stream ||
        !e->args[1]->stream)
      return nullptr;
    std::optional<SmallVector<Term>> split = terms.split(e);
    if (!split)
      return nullptr;
    const Term &term = split->front();
    if (split->size() > 1 || !term.differences.empty() || term.condition || term.vanishes) {
      terms.refuse(e, "it is no product of a part along the stream and of results");
      return nullptr;
    }
    if (term.exponent) {
      terms.refuse(e, "it multiplies a weight exp(a) by values: relative to the maximum of a, what "
                      "has been folded would be rescaled when that moves, and only sums are kept "
                      "so");
      return nullptr;
    }
    const ScalarExpr *product = nullptr;
    for (const ScalarExpr *factor : llvm::concat<const ScalarExpr *const>(term.factors, term.outer))
      product = product ? terms.binary(Kind::Mul, product, factor) : factor;
    return product;
  }

  bool isMonotone(Terms &terms, const ScalarExpr *e) const {
    if (!e->state)
      return e->stream;
    if (terms.splitSum(e))
      return true;
    Terms::Attempt attempt(terms);
    if (const ScalarExpr *product = regrouped(terms, e))
      return isMonotone(terms, product);
    unsigned position;
    bool falls;
    const ScalarExpr *argument = monotoneArgument(terms, e, position, falls);
    return argument && isMonotone(terms, argument);
  }

  // max over x of a(x) + b(g) is (max a) + b(g); of f(a(x)), f(max a) where f grows and f(min a)
  // where it falls.
  const ScalarExpr *extremum(OpBuilder &b, FoldOp fold, Terms &terms, const ScalarExpr *e,
                             bool isMax) {
    std::optional<Term> term = terms.splitSum(e);
    if (const ScalarExpr *product = term ? nullptr : regrouped(terms, e))
      return extremum(b, fold, terms, product, isMax);
    if (!term) {
      unsigned position;
      bool falls;
      const ScalarExpr *argument = monotoneArgument(terms, e, position, falls);
      SmallVector<const ScalarExpr *> args;
      llvm::append_range(args, e->args);
      args[position] = extremum(b, fold, terms, argument, isMax != falls);
      states.record(Rule::Monotone, fold,
                    {{"operation", Terms::nameOf(e).str()},
                     {"growth", falls ? "fall" : "grow"},
                     {"x", specTextOf(argument)},
                     {"dims", listDims(states.pass.stream)}});
      return terms.withArgs(e, args);
    }
    Value along = terms.build(b, fold.getLoc(), term->exponent);
    Value state = states.makeState(b, isMax ? FoldKind::Max : FoldKind::Min, {along}, Value(),
                                   Value(), fold.getLoc());
    // As a subtraction, so that over a row without keys (max = -inf) it stays -inf, and so does a
    // minimum where an element is -inf.
    const ScalarExpr *total = terms.leaf(state);
    if (!term->shift.empty()) {
      auto rest = term->shift;
      if (const ScalarExpr *gap =
              isMax ? takeMaxima(terms, state.getDefiningOp<FoldOp>(), rest) : nullptr)
        total = gap;
      if (!rest.empty())
        total = terms.binary(ScalarExpr::Kind::Sub, total, terms.neg(terms.sum(rest)));
      states.record(Rule::Shifted, fold,
                    {{"b", specTextOfSum(term->shift)},
                     {"state", definitionOf(state)},
                     {"dims", listDims(states.pass.stream)}});
    }
    return total;
  }

  PassStates states;
};

} // namespace

bool joinExtremum(FoldOp fold, PassStates states, Terms &terms) {
  return ExtremumJoiner(states).join(fold, terms);
}

void turnMinimum(FoldOp fold) {
  auto map = fold.getFactors().front().getDefiningOp<MapOp>();
  auto negation = map ? map.getYielded().getDefiningOp<arith::NegFOp>() : arith::NegFOp();
  auto argument = negation ? dyn_cast<BlockArgument>(negation.getOperand()) : BlockArgument();
  if (!argument || map.getOperand(argument.getArgNumber()).getType() != map.getType())
    return;
  OpBuilder b(fold);
  Value max = FoldOp::create(b, fold.getLoc(), fold.getType(), FoldKind::Max, fold.getDims(),
                             map.getOperand(argument.getArgNumber()), Value(), Value());
  derivation::record(programOf(fold),
                     derivation::stepAt(Rule::Negated, fold.getLoc(), specTextOf(fold),
                                        {{"state", definitionOf(max)}}));
  replaceFold(fold, MapOp::create(b, fold.getLoc(), fold.getType(), max,
                                  [](OpBuilder &inner, Location at, ValueRange x) -> Value {
                                    return arith::NegFOp::create(inner, at, x[0]);
                                  }));
}

} // namespace attnc
