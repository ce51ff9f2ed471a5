#include "compiler/frontend/bounds/polynomial.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace attnc {

Polynomial::Polynomial(int64_t constant) {
  if (constant)
    terms[{}] = constant;
}

Polynomial Polynomial::atom(Atom a) {
  Polynomial p;
  p.terms[{a}] = 1;
  return p;
}

std::optional<int64_t> Polynomial::constant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

std::optional<Atom> Polynomial::asAtom() const {
  if (terms.size() == 1 && terms.begin()->first.size() == 1 && terms.begin()->second == 1)
    return terms.begin()->first.front();
  return std::nullopt;
}

bool Polynomial::contains(Atom a) const {
  return llvm::any_of(terms, [&](const auto &t) { return llvm::is_contained(t.first, a); });
}

bool Polynomial::hasNoNegativeCoefficient() const {
  return llvm::all_of(terms, [](const auto &t) { return t.second >= 0; });
}

bool Polynomial::addTerm(const Monomial &monomial, int64_t coefficient) {
  int64_t &slot = terms[monomial];
  if (llvm::AddOverflow(slot, coefficient, slot) || slot > maxCoefficient || slot < -maxCoefficient)
    return false;
  if (!slot)
    terms.erase(monomial);
  return fits();
}

std::optional<Polynomial> Polynomial::add(const Polynomial &a, const Polynomial &b) {
  Polynomial sum = a;
  for (const auto &[monomial, coefficient] : b.terms)
    if (!sum.addTerm(monomial, coefficient))
      return std::nullopt;
  return sum;
}

std::optional<Polynomial> Polynomial::subtract(const Polynomial &a, const Polynomial &b) {
  auto negated = multiply(b, Polynomial(-1));
  return negated ? add(a, *negated) : std::nullopt;
}

std::optional<Polynomial> Polynomial::multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial product;
  for (const auto &[ma, ca] : a.terms)
    for (const auto &[mb, cb] : b.terms) {
      int64_t coefficient = 0;
      if (ma.size() + mb.size() > maxDegree || llvm::MulOverflow(ca, cb, coefficient))
        return std::nullopt;
      Monomial monomial;
      std::merge(ma.begin(), ma.end(), mb.begin(), mb.end(), std::back_inserter(monomial));
      if (!product.addTerm(monomial, coefficient))
        return std::nullopt;
    }
  return product;
}

std::optional<Polynomial> Polynomial::substitute(Atom a, const Polynomial &by) const {
  Polynomial result;
  for (const auto &[monomial, coefficient] : terms) {
    Polynomial term;
    Monomial others;
    llvm::copy_if(monomial, std::back_inserter(others), [&](Atom x) { return x != a; });
    term.terms[others] = coefficient;
    for (size_t power = monomial.size() - others.size(); power > 0; --power) {
      auto product = multiply(term, by);
      if (!product)
        return std::nullopt;
      term = std::move(*product);
    }
    auto sum = add(result, term);
    if (!sum)
      return std::nullopt;
    result = std::move(*sum);
  }
  return result;
}

std::optional<Polynomial::Division> Polynomial::divide(const Polynomial &by) const {
  if (by.terms.size() != 1)
    return std::nullopt;
  const auto &[divisor, divisorCoefficient] = *by.terms.begin();
  Division result;
  for (const auto &[monomial, coefficient] : terms) {
    bool whole = divisorCoefficient != -1 && coefficient % divisorCoefficient == 0 &&
                 std::includes(monomial.begin(), monomial.end(), divisor.begin(), divisor.end());
    if (!whole) {
      result.rest.terms[monomial] = coefficient;
      continue;
    }
    Monomial left;
    std::set_difference(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(left));
    result.quotient.terms[left] = coefficient / divisorCoefficient;
  }
  return result;
}

std::string Polynomial::print(llvm::function_ref<std::string(Atom)> nameOf) const {
  if (terms.empty())
    return "0";
  std::string text;
  // Products before the constant, as a person writes them.
  for (auto it = terms.rbegin(); it != terms.rend(); ++it) {
    const auto &[monomial, coefficient] = *it;
    bool negative = coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    bool first = true;
    if (magnitude != 1 || monomial.empty()) {
      text += std::to_string(magnitude);
      first = false;
    }
    for (Atom a : monomial) {
      text += (first ? "" : "*") + nameOf(a);
      first = false;
    }
  }
  return text;
}

} // namespace attnc
