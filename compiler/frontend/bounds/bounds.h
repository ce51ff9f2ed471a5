// Intervals of integer expressions, with ends that are polynomials in sizes.
#ifndef ATTNC_COMPILER_FRONTEND_BOUNDS_BOUNDS_H
#define ATTNC_COMPILER_FRONTEND_BOUNDS_BOUNDS_H

#include "compiler/frontend/bounds/size_facts.h"
#include "compiler/frontend/program/scalar.h"
#include "llvm/ADT/DenseMap.h"

namespace attnc {

/// What is known about the value of an integer expression. All the bounds hold.
struct Interval {
  /// Polynomials that the value is never below (above); none known if empty.
  std::vector<Polynomial> lower, upper;
  /// The value itself, if it is a polynomial in sizes.
  std::optional<Polynomial> exact;
  /// True if the value depends on the contents of a tensor.
  bool fromData = false;

  static Interval of(const Polynomial &value) { return {{value}, {value}, value, false}; }
  static Interval unknown() { return {}; }
  /// An index along a dim of this size.
  static Interval ofIndex(const Polynomial &size);
};

/// The declared range of a param; inclusive unless a flag says otherwise.
struct ParamRange {
  std::optional<double> lower, upper;
  bool lowerOpen = false, upperOpen = false;

  bool contains(double x) const;
  bool empty() const;
  /// The integers of the range.
  Interval ofIntegers() const;
};

/// Computes the intervals of scalar expressions. Array operands are described by `setLeaf`.
class IntervalAnalysis {
public:
  explicit IntervalAnalysis(SizeFacts &facts) : facts(facts) {}

  void setLeaf(mlir::Value array, Interval interval) { leaves[array] = std::move(interval); }
  /// `array` holds the values of `scalar`.
  void setLeaf(mlir::Value array, const Scalar *scalar) { sources[array] = scalar; }
  /// True if the values of `array` are an interval between sizes.
  bool isLeaf(mlir::Value array) const { return leaves.contains(array); }
  /// The expression whose values `array` holds, or null.
  const Scalar *sourceOf(mlir::Value array) const { return sources.lookup(array); }
  /// To be called when facts were added: intervals are computed anew.
  void forget() { known.clear(); }
  /// Takes over what the facts can use of a condition on sizes.
  void assume(const Scalar *condition);
  /// Takes over that a size is the value of an expression of sizes.
  void assumeSize(const Polynomial &size, const Scalar *value);
  Interval interval(const Scalar *scalar);

  /// Of a minimum, a maximum or a choice, each side may be proven in its own way. A bound of a
  /// quotient is one of what is divided.
  bool provesAtLeast(const Scalar *scalar, const Polynomial &bound) {
    return proves(scalar, Side::AtLeast, bound, 0);
  }
  bool provesAtMost(const Scalar *scalar, const Polynomial &bound) {
    return proves(scalar, Side::AtMost, bound, 0);
  }

  /// The expression that an array was computed from, if it is known.
  const Scalar *resolved(const Scalar *scalar) const;
  /// What `a` has to be at most (at least) for `scalar`, which is a // b, to be so: b * bound + b -
  /// 1 (b * bound). Nothing if `scalar` is no such quotient, or b is not known to be positive.
  std::optional<Polynomial> dividendAtMost(const Scalar *scalar, const Polynomial &bound);
  std::optional<Polynomial> dividendAtLeast(const Scalar *scalar, const Polynomial &bound);

private:
  enum class Side { AtMost, AtLeast };
  /// `term` is on the same side of `bound`, or on the other, where a sum or a quotient is.
  struct Reduced {
    const Scalar *term;
    Side side;
    Polynomial bound;
  };
  std::optional<Reduced> reduced(const Scalar *scalar, Side side, const Polynomial &bound);
  void assume(const Scalar *scalar, Side side, const Polynomial &bound, unsigned depth = 0);
  void assumeAtMost(const Scalar *left, const Scalar *right, int64_t gap);
  bool proves(const Scalar *scalar, Side side, const Polynomial &bound, unsigned depth);
  bool provesByParts(const Scalar *scalar, Side side, const Polynomial &bound, unsigned depth);
  bool provesAtLeast(const Interval &value, const Polynomial &bound);
  bool provesAtMost(const Interval &value, const Polynomial &bound);
  Interval compute(const Scalar *scalar);
  Interval ofOperation(const Scalar *scalar);
  Interval add(const Interval &a, const Interval &b);
  Interval negate(const Interval &a);
  Interval multiply(const Interval &a, const Interval &b);
  Interval scale(const Interval &a, const Polynomial &factor);
  Interval floorDivide(const Interval &a, const Interval &b);
  Interval modulo(const Interval &a, const Interval &b);
  Interval minimum(const Interval &a, const Interval &b);
  Interval maximum(const Interval &a, const Interval &b);
  Interval hull(const Interval &a, const Interval &b);

  SizeFacts &facts;
  llvm::DenseMap<mlir::Value, Interval> leaves;
  llvm::DenseMap<mlir::Value, const Scalar *> sources;
  llvm::DenseMap<const Scalar *, Interval> known;
  unsigned nesting = 0;
};

} // namespace attnc

#endif
