#include "compiler/frontend/bounds/size_facts.h"

namespace attnc {

/// Limits of the proof, so that no spec keeps the compiler busy. Beyond them nothing is proven.
static constexpr unsigned maxFacts = 32;
static constexpr unsigned maxSteps = 1u << 16;

Atom SizeFacts::newAtom(std::string name, int64_t least) {
  atoms.push_back({std::move(name), least});
  return static_cast<Atom>(atoms.size() - 1);
}

Polynomial SizeFacts::size(llvm::StringRef dim, std::optional<int64_t> extent) {
  if (extent)
    return Polynomial(*extent);
  auto [entry, isNew] = sizes.try_emplace(dim, 0);
  if (isNew)
    entry->second = newAtom("size(" + dim.str() + ")", 1);
  return Polynomial::atom(entry->second);
}

Polynomial SizeFacts::normalise(const Polynomial &p) const {
  // Right sides hold no solved atom, so one substitution each is enough. A substitution that
  // would grow too large is left out: the polynomial still has the same value.
  Polynomial result = p;
  for (const auto &[atom, value] : solved)
    if (result.contains(atom))
      if (auto next = result.substitute(atom, value))
        result = std::move(*next);
  return result;
}

bool SizeFacts::solveFor(Atom a, const Polynomial &difference, int64_t coefficient) {
  // difference = coefficient * a + rest = 0, coefficient +-1, so a = -coefficient * rest.
  auto own = Polynomial::multiply(Polynomial::atom(a), Polynomial(coefficient));
  auto rest = own ? Polynomial::subtract(difference, *own) : std::nullopt;
  auto value = rest ? Polynomial::multiply(*rest, Polynomial(-coefficient)) : std::nullopt;
  if (!value || value->contains(a))
    return false;
  std::map<Atom, Polynomial> updated;
  for (const auto &[atom, old] : solved) {
    auto next = old.substitute(a, *value);
    if (!next)
      return false;
    updated[atom] = std::move(*next);
  }
  solved = std::move(updated);
  solved[a] = *value;
  // What was known about the atom itself is now known about its value.
  if (auto above = Polynomial::subtract(*value, Polynomial(atoms[a].least)))
    assumeNotNegative(*above);
  // A product of numbers that are not negative is positive only if each of them is.
  if (atoms[a].least > 0 && value->all().size() == 1 && value->hasNoNegativeCoefficient())
    for (Atom factor : value->all().begin()->first)
      atoms[factor].least = std::max<int64_t>(atoms[factor].least, 1);
  return true;
}

void SizeFacts::assumeEqual(const Polynomial &a, const Polynomial &b) {
  auto raw = Polynomial::subtract(a, b);
  if (!raw)
    return;
  Polynomial difference = normalise(*raw);
  for (const auto &[monomial, coefficient] : difference.all())
    if (monomial.size() == 1 && (coefficient == 1 || coefficient == -1))
      if (solveFor(monomial.front(), difference, coefficient))
        return;
  assumeNotNegative(difference);
  if (auto negated = Polynomial::multiply(difference, Polynomial(-1)))
    assumeNotNegative(*negated);
}

void SizeFacts::assumeNotNegative(const Polynomial &p) {
  if (!p.constant() && facts.size() < maxFacts)
    facts.push_back(p);
}

void SizeFacts::assumeDivides(const Polynomial &a, const Polynomial &b) {
  Polynomial dividend = normalise(a), divisor = normalise(b);
  auto atom = dividend.asAtom();
  if (!atom || divisor.contains(*atom) || !provesAtMost(Polynomial(1), divisor))
    return;
  // Both are positive and the division is exact: the quotient is positive.
  Atom ratio = newAtom("(" + print(a) + " // " + print(b) + ")", 1);
  if (auto product = Polynomial::multiply(Polynomial::atom(ratio), divisor))
    assumeEqual(dividend, *product);
}

bool SizeFacts::provesDirectly(const Polynomial &p) {
  if (++steps > maxSteps)
    return false;
  Polynomial shifted = p;
  for (Atom a = 0; a < atoms.size(); ++a) {
    if (!atoms[a].least || !shifted.contains(a))
      continue;
    auto above = Polynomial::add(Polynomial::atom(a), Polynomial(atoms[a].least));
    auto next = above ? shifted.substitute(a, *above) : std::nullopt;
    if (!next)
      return false;
    shifted = std::move(*next);
  }
  return shifted.hasNoNegativeCoefficient();
}

bool SizeFacts::provesNotNegative(const Polynomial &p) {
  Polynomial goal = normalise(p);
  if (goal.constant())
    return *goal.constant() >= 0;
  if (provesDirectly(goal))
    return true;
  std::vector<Polynomial> left;
  for (const Polynomial &fact : facts)
    if (auto rest = Polynomial::subtract(goal, normalise(fact))) {
      if (provesDirectly(*rest))
        return true;
      left.push_back(std::move(*rest));
    }
  for (const Polynomial &rest : left)
    for (const Polynomial &fact : facts)
      if (auto last = Polynomial::subtract(rest, normalise(fact)); last && provesDirectly(*last))
        return true;
  return false;
}

bool SizeFacts::provesAtMost(const Polynomial &a, const Polynomial &b) {
  auto difference = Polynomial::subtract(b, a);
  return difference && provesNotNegative(*difference);
}

std::optional<Polynomial> SizeFacts::quotient(const Polynomial &a, const Polynomial &b) {
  Polynomial dividend = normalise(a), divisor = normalise(b);
  if (!provesAtMost(Polynomial(1), divisor))
    return std::nullopt;
  if (dividend == divisor)
    return Polynomial(1);
  if (auto division = dividend.divide(divisor); division && division->rest.isZero())
    return division->quotient;
  auto known = quotients.find({dividend, divisor});
  if (known != quotients.end())
    return known->second;
  if (!provesNotNegative(dividend))
    return std::nullopt;
  bool positive = provesAtMost(divisor, dividend);
  Atom atom = newAtom("(" + print(a) + " // " + print(b) + ")", positive ? 1 : 0);
  Polynomial value = Polynomial::atom(atom);
  quotients[{dividend, divisor}] = value;
  // 0 <= dividend - value * divisor <= divisor - 1
  auto product = Polynomial::multiply(value, divisor);
  auto rest = product ? Polynomial::subtract(dividend, *product) : std::nullopt;
  if (rest) {
    assumeNotNegative(*rest);
    auto room = Polynomial::subtract(divisor, *rest);
    if (auto strict = room ? Polynomial::subtract(*room, Polynomial(1)) : std::nullopt)
      assumeNotNegative(*strict);
  }
  return value;
}

std::string SizeFacts::print(const Polynomial &p) const {
  return p.print([&](Atom a) { return atoms[a].name; });
}

} // namespace attnc
