#include "compiler/frontend/bounds/index_form.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {

/// Nodes looked at for one form: what is shared is walked again, which could go on for long.
static constexpr unsigned maxSteps = 64;
/// Bounds of one side that are kept while terms are added up.
static constexpr size_t maxBounds = 4;

const Scalar *IndexForms::resolved(const Scalar *value) const {
  while (value->kind == Scalar::Array)
    if (const Scalar *source = intervals.sourceOf(value->array))
      value = source;
    else
      break;
  return value;
}

bool IndexForms::addTerm(IndexForm &form, const IndexForm::Term &term) {
  auto same = [&](const IndexForm::Term &other) {
    return other.value == term.value ||
           (term.value->kind == Scalar::Array && other.value->kind == Scalar::Array &&
            other.value->array == term.value->array);
  };
  auto *found = llvm::find_if(form.terms, same);
  if (found == form.terms.end()) {
    form.terms.push_back(term);
    return true;
  }
  if (llvm::AddOverflow(found->coefficient, term.coefficient, found->coefficient))
    return false;
  if (found->coefficient == 0)
    form.terms.erase(found);
  return true;
}

/// True if an index occurs close to the root of the expression.
bool IndexForms::mentionsIndex(const Scalar *value, unsigned depth) const {
  constexpr unsigned maxDepth = 4;
  value = resolved(value);
  if (value->kind == Scalar::Array)
    return value->array.getDefiningOp<attn::IndexOp>();
  return depth < maxDepth &&
         llvm::any_of(
             value->args, [&](const Scalar *arg) { return mentionsIndex(arg, depth + 1); });
}

bool IndexForms::collect(const Scalar *value, int64_t factor, IndexForm &form) {
  value = resolved(value);
  StringAttr dim;
  if (value->kind == Scalar::Array)
    if (auto index = value->array.getDefiningOp<attn::IndexOp>())
      dim = index.getDimAttr();
  form.hasIndex |= bool(dim);
  if (!dim)
    if (auto exact = intervals.interval(value).exact) {
      auto scaled = Polynomial::multiply(*exact, Polynomial(factor));
      auto sum = scaled ? Polynomial::add(form.rest, *scaled) : std::nullopt;
      if (sum)
        form.rest = std::move(*sum);
      return sum.has_value();
    }
  bool sum = value->kind == Scalar::Operation && ++steps < maxSteps;
  if (sum && (value->op == ScalarOp::Add || value->op == ScalarOp::Sub))
    return collect(value->args[0], factor, form) &&
           collect(value->args[1], value->op == ScalarOp::Add ? factor : -factor, form);
  if (sum && value->op == ScalarOp::Neg)
    return collect(value->args[0], -factor, form);
  if (sum && value->op == ScalarOp::Mul)
    for (unsigned side : {0u, 1u})
      if (auto exact = intervals.interval(value->args[side]).exact)
        if (auto constant = exact->constant()) {
          int64_t product = 0;
          return !llvm::MulOverflow(factor, *constant, product) &&
                 (product == 0 || collect(value->args[1 - side], product, form));
        }
  form.hasIndex |= mentionsIndex(value, 0);
  return addTerm(form, {value, dim, factor});
}

std::optional<IndexForm> IndexForms::difference(const Scalar *left, const Scalar *right) {
  IndexForm form;
  steps = 0;
  if (!collect(left, 1, form) || !collect(right, -1, form))
    return std::nullopt;
  return form;
}

std::optional<IndexForm> IndexForms::add(const IndexForm &a, const IndexForm &b) {
  IndexForm sum = a;
  for (const IndexForm::Term &term : b.terms)
    if (!addTerm(sum, term))
      return std::nullopt;
  auto rest = Polynomial::add(a.rest, b.rest);
  if (!rest)
    return std::nullopt;
  sum.rest = std::move(*rest);
  sum.hasIndex |= b.hasIndex;
  return sum;
}

std::optional<IndexForm> IndexForms::affine(const IndexForm &form, int64_t factor,
                                            int64_t constant) {
  IndexForm result = form;
  for (IndexForm::Term &term : result.terms)
    if (llvm::MulOverflow(term.coefficient, factor, term.coefficient))
      return std::nullopt;
  auto scaled = Polynomial::multiply(form.rest, Polynomial(factor));
  auto rest = scaled ? Polynomial::add(*scaled, Polynomial(constant)) : std::nullopt;
  if (!rest)
    return std::nullopt;
  result.rest = std::move(*rest);
  return result;
}

std::vector<Polynomial> IndexForms::bounds(const IndexForm &form, bool upper) {
  std::vector<Polynomial> sums = {form.rest};
  for (const IndexForm::Term &term : form.terms) {
    Interval interval = intervals.interval(term.value);
    std::vector<Polynomial> next;
    for (const Polynomial &end : upper == (term.coefficient > 0) ? interval.upper : interval.lower)
      for (const Polynomial &sum : sums) {
        auto scaled = Polynomial::multiply(end, Polynomial(term.coefficient));
        auto total = scaled ? Polynomial::add(sum, *scaled) : std::nullopt;
        if (total && next.size() < maxBounds)
          next.push_back(std::move(*total));
      }
    sums = std::move(next);
  }
  return sums;
}

bool IndexForms::provesAtMost(const IndexForm &form, int64_t bound) {
  return llvm::any_of(bounds(form, /*upper=*/true), [&](const Polynomial &high) {
    return facts.provesAtMost(high, Polynomial(bound));
  });
}

bool IndexForms::provesAtLeast(const IndexForm &form, int64_t bound) {
  return llvm::any_of(bounds(form, /*upper=*/false), [&](const Polynomial &low) {
    return facts.provesAtMost(Polynomial(bound), low);
  });
}

} // namespace attnc
