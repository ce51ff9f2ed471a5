#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/evaluator/tolerance/error_rules.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

namespace attnc::evaluator {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

enum class Class { Finite, Infinite, NaN };

Class classOf(double x) {
  return std::isnan(x) ? Class::NaN : std::isinf(x) ? Class::Infinite : Class::Finite;
}

/// What the difference of one element comes to: a ratio to the tolerance, infinity for a mismatch.
double ratioOf(const Array &reference, int64_t i, double actual, double tolerance) {
  double expected = reference.at(i);
  if (classOf(expected) != classOf(actual)) {
    bool overflows = std::isinf(actual) && std::signbit(actual) == std::signbit(expected) &&
                     std::fabs(expected) + tolerance > reference.storeMax;
    return overflows ? 0 : kInfinite;
  }
  if (classOf(expected) == Class::NaN || expected == actual)
    return 0;
  return std::fabs(expected - actual) / tolerance; // opposite infinities: infinite
}

} // namespace

double toleranceAt(const Array &reference, int64_t i, double slack) {
  double value = std::fabs(reference.at(i));
  double store = std::isfinite(value) ? reference.storeUnit * value + reference.storeFloor : 0;
  // The store rounds the computed value, which may be larger than the reference.
  return slack * reference.errorAt(i) * (1 + reference.storeUnit) + store;
}

Comparison compare(const Array &reference, const Array &actual, double slack) {
  Comparison result;
  result.size = reference.size();
  if (actual.shape != reference.shape) {
    result.failures = result.mismatches = std::max<int64_t>(result.size, 1);
    result.maxRatio = kInfinite;
    return result;
  }
  for (int64_t i = 0; i < result.size; ++i) {
    double tolerance = toleranceAt(reference, i, slack);
    if (std::isinf(tolerance)) {
      ++result.undecided;
      continue;
    }
    double ratio = ratioOf(reference, i, actual.at(i), tolerance);
    double difference = std::fabs(reference.at(i) - actual.at(i));
    if (std::isfinite(difference)) {
      result.maxError = std::max(result.maxError, difference);
      result.rmsError += difference * difference;
      result.rmsReference += reference.at(i) * reference.at(i);
    }
    if (ratio > result.maxRatio || result.worst < 0) {
      result.maxRatio = ratio;
      result.worst = i;
    }
    result.failures += !(ratio <= 1);
    result.mismatches += std::isinf(ratio) && !std::isfinite(difference);
  }
  double count = std::max<int64_t>(result.size, 1);
  result.rmsError = std::sqrt(result.rmsError / count);
  result.rmsReference = std::sqrt(result.rmsReference / count);
  return result;
}

Comparison compareEvaluations(const Array &before, const Array &after, const Array *inFloat64) {
  Array reference = before;
  // The bound of an f64 output counts in float64's unit already.
  double scale = before.storeUnit == kUnitF64 ? 1 : kUnitF64 / kUnitF32;
  if (inFloat64 && !inFloat64->error.empty()) {
    reference.error.resize(reference.size(), 0);
    for (int64_t i = 0; i < reference.size(); ++i)
      reference.error[i] = std::max(reference.error[i], inFloat64->errorAt(i) / scale);
  }
  // Where f32 would be exact, float64 may still underflow, or round in another order: to some units
  // in the last place of what is summed, which the largest element stands for.
  double largest = 0;
  for (double value : before.value)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  reference.storeFloor = std::max(4 * kUnitF64 * largest, std::numeric_limits<double>::min());
  reference.storeUnit = 0;
  reference.storeMax = kInfinite;
  return compare(reference, after, 8 * scale);
}

std::string summary(const Array &reference, const Array &actual, const Comparison &comparison) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::format("max error %.3g, %.3g of its tolerance", comparison.maxError,
                      comparison.maxRatio);
  if (actual.shape != reference.shape) {
    out << "; shapes differ";
  } else if (comparison.worst >= 0) {
    int64_t rest = comparison.worst;
    llvm::SmallVector<int64_t> index(reference.shape.size());
    for (size_t axis = index.size(); axis-- > 0; rest /= reference.shape[axis])
      index[axis] = rest % reference.shape[axis];
    out << " at [";
    llvm::interleaveComma(llvm::seq<size_t>(0, index.size()), out, [&](size_t axis) {
      out << (axis < reference.dims.size() ? reference.dims[axis] + "=" : "") << index[axis];
    });
    out << llvm::format("] (expected %.9g, got %.9g)", reference.at(comparison.worst),
                        actual.at(comparison.worst));
  }
  if (comparison.failures)
    out << "; " << comparison.failures << " of " << comparison.size << " elements fail";
  if (comparison.undecided)
    out << "; " << comparison.undecided << " undecided";
  return text;
}

} // namespace attnc::evaluator
