// A computed output against the reference and its bound.
#ifndef ATTNC_COMPILER_EVALUATOR_TOLERANCE_COMPARE_H
#define ATTNC_COMPILER_EVALUATOR_TOLERANCE_COMPARE_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::evaluator {

/// The tolerance is kSlack times the first-order bound, plus the rounding of the store. Two pays
/// for what is of second order and for the order in which an implementation applies scales.
inline constexpr double kSlack = 2;

/// The tolerance of the reference's element `i`.
double toleranceAt(const Array &reference, int64_t i, double slack = kSlack);

struct Comparison {
  double maxError = 0;    // largest |difference| among the finite elements
  double maxRatio = 0;    // largest |difference| / tolerance; infinity if an element mismatches
  int64_t worst = -1;     // flat index of that element
  int64_t failures = 0;   // elements beyond their tolerance or mismatched
  int64_t mismatches = 0; // of those: NaN or infinity on one side only, or of the other sign
  int64_t undecided = 0;  // elements that the reference cannot bound; anything passes there
  int64_t size = 0;
  /// Root mean squares over the elements that are finite on both sides: of the difference and of
  /// the reference. Their ratio shows a loss of precision that a bound for each element hides.
  double rmsError = 0, rmsReference = 0;

  bool passed() const { return failures == 0; }
};

/// Compares `actual`, which has the reference's shape. A NaN matches only a NaN, an infinity only
/// the same infinity (or, where the reference is beyond the output's type, a value that rounds to
/// it). Integers and booleans must be equal within their bound, which is 0 unless they come from
/// floats.
Comparison compare(const Array &reference, const Array &actual, double slack = kSlack);

/// Compares two evaluations of what should be the same program (before and after a pass). Both are
/// float64, so the tolerance is the bound scaled from f32's unit roundoff to float64's, times 8 for
/// the difference between two orders of evaluation. Exact elements must be equal. `inFloat64`, if
/// it is given, is `before` with the bounds of float64 itself: where those are larger they count.
Comparison compareEvaluations(const Array &before, const Array &after,
                              const Array *inFloat64 = nullptr);

/// One line: largest error and ratio, the index of the worst element, counts.
std::string summary(const Array &reference, const Array &actual, const Comparison &comparison);

} // namespace attnc::evaluator

#endif
