// What is known about the sizes of a spec: from dims, lets and `require`.
#ifndef ATTNC_COMPILER_FRONTEND_BOUNDS_SIZE_FACTS_H
#define ATTNC_COMPILER_FRONTEND_BOUNDS_SIZE_FACTS_H

#include "compiler/frontend/bounds/polynomial.h"
#include "llvm/ADT/StringMap.h"

namespace attnc {

/// A small theory of sizes. Every size is at least 1, which the runtime checks when shapes are
/// bound. Facts are equalities, solved for one atom each, and polynomials that are not negative.
/// A polynomial is proven not negative if, after the equalities, subtracting at most two facts and
/// writing every atom as its least value plus something, no coefficient is negative. That is
/// sound and not complete.
class SizeFacts {
public:
  /// The size of a dim as a polynomial: a constant if `extent` is given.
  Polynomial size(llvm::StringRef dim, std::optional<int64_t> extent);

  void assumeEqual(const Polynomial &a, const Polynomial &b);
  void assumeNotNegative(const Polynomial &p);
  /// a % b == 0
  void assumeDivides(const Polynomial &a, const Polynomial &b);

  bool provesNotNegative(const Polynomial &p);
  /// a <= b
  bool provesAtMost(const Polynomial &a, const Polynomial &b);

  /// floor(a / b) for b >= 1: exact where b divides a, else an atom of its own with what is known
  /// about it. Nothing if b is not proven positive.
  std::optional<Polynomial> quotient(const Polynomial &a, const Polynomial &b);

  /// The polynomial after the equalities.
  Polynomial normalise(const Polynomial &p) const;
  std::string print(const Polynomial &p) const;

private:
  struct AtomInfo {
    std::string name;
    int64_t least;
  };
  Atom newAtom(std::string name, int64_t least);
  bool provesDirectly(const Polynomial &p);
  bool solveFor(Atom a, const Polynomial &difference, int64_t coefficient);

  std::vector<AtomInfo> atoms;
  llvm::StringMap<Atom> sizes;
  std::map<Atom, Polynomial> solved;
  std::vector<Polynomial> facts;
  std::map<std::pair<Polynomial, Polynomial>, Polynomial> quotients;
  unsigned steps = 0;
};

} // namespace attnc

#endif
