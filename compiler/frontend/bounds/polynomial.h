// Polynomials with integer coefficients over the sizes of a spec.
#ifndef ATTNC_COMPILER_FRONTEND_BOUNDS_POLYNOMIAL_H
#define ATTNC_COMPILER_FRONTEND_BOUNDS_POLYNOMIAL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// Stands for a positive integer that is known only when shapes are bound, such as a size.
using Atom = unsigned;

/// A polynomial in atoms. Operations return nothing if a coefficient would leave +-maxCoefficient
/// or the result would have more than `maxTerms` terms or a degree above `maxDegree`: what cannot
/// be computed is not proven. The limit of coefficients keeps proofs about expressions whose
/// 64-bit value could wrap around from being made.
class Polynomial {
public:
  /// The atoms of a product, sorted; the empty product is 1.
  using Monomial = std::vector<Atom>;
  static constexpr size_t maxTerms = 64;
  static constexpr size_t maxDegree = 8;
  static constexpr int64_t maxCoefficient = int64_t(1) << 31;

  Polynomial() = default;
  explicit Polynomial(int64_t constant);
  static Polynomial atom(Atom a);

  const std::map<Monomial, int64_t> &all() const { return terms; }
  bool isZero() const { return terms.empty(); }
  /// The value, if no atom occurs.
  std::optional<int64_t> constant() const;
  /// The atom, if the polynomial is just that.
  std::optional<Atom> asAtom() const;
  bool contains(Atom a) const;
  /// True if no coefficient is negative.
  bool hasNoNegativeCoefficient() const;

  static std::optional<Polynomial> add(const Polynomial &a, const Polynomial &b);
  static std::optional<Polynomial> subtract(const Polynomial &a, const Polynomial &b);
  static std::optional<Polynomial> multiply(const Polynomial &a, const Polynomial &b);
  /// Replaces an atom by a polynomial.
  std::optional<Polynomial> substitute(Atom a, const Polynomial &by) const;

  struct Division;
  /// Divides term by term by a polynomial of one term; nothing if `by` has none or several.
  std::optional<Division> divide(const Polynomial &by) const;

  std::string print(llvm::function_ref<std::string(Atom)> nameOf) const;

  bool operator==(const Polynomial &) const = default;
  auto operator<=>(const Polynomial &) const = default;

private:
  bool addTerm(const Monomial &monomial, int64_t coefficient);
  bool fits() const { return terms.size() <= maxTerms; }

  std::map<Monomial, int64_t> terms; // no zero coefficients
};

/// dividend = quotient * divisor + rest, where no term of rest is divisible.
struct Polynomial::Division {
  Polynomial quotient, rest;
};

} // namespace attnc

#endif
