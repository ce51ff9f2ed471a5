// Running error analysis: each rule gives an op's float64 result and a first-order bound on how far
// an f32 computation of it may be off. docs/notes/error-analysis.md derives them.
#ifndef ATTNC_COMPILER_EVALUATOR_TOLERANCE_ERROR_RULES_H
#define ATTNC_COMPILER_EVALUATOR_TOLERANCE_ERROR_RULES_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace attnc::evaluator {

/// Unit roundoffs: half the distance from 1 to the next number.
inline constexpr double kUnitF64 = 0x1p-53;
inline constexpr double kUnitF32 = 0x1p-24;
inline constexpr double kUnitF16 = 0x1p-11;
inline constexpr double kUnitBF16 = 0x1p-8;
/// Of tanh where approximation is allowed: its rule has 8 u, tanh.approx is off by 2^-11 (PTX ISA).
inline constexpr double kUnitApproximate = 0x1p-14;
/// The smallest normal f32: results below it may be flushed to zero.
inline constexpr double kFlushF32 = 0x1p-126;
/// exp(x) is zero in f32 for every x below this.
inline constexpr double kExpUnderflow = -104.0;
/// The largest f32.
inline constexpr double kLargestF32 = 0x1.fffffep127;
/// What an exponential that float64 holds as 0, or with few digits, is at most off by. It is not 0
/// in exact arithmetic: divided by such numbers, as 0 / 0, a result is not known. Comparisons take
/// it for exact (kExactReach), as every type of kernels does.
/// Products keep at least this much of it.
inline constexpr double kTiny = 1e-300;
inline constexpr double kExactReach = 1e-290;
inline constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// A float with the bound on its absolute error; a bound of infinity means "unknown".
struct Real {
  double value;
  double error;
};

/// An integer or boolean. The error is 0 unless it came from a float that is too close to call.
struct Whole {
  int64_t value;
  double error;
};

/// Growth of the rounding error of a sum of n products, in units of u * sum |terms|: the product
/// (up to three TF32 parts), n/16 truncating tensor-core steps of 2u each, and the random walk of
/// a sequential or blocked f32 sum.
inline double sumGrowth(double n) { return 4 + 2 * std::sqrt(n) + n / 8; }

/// What the roundings of the terms of a sum come to, in units of u, from the sum, the sum of the
/// terms' magnitudes and that of their squares: a random walk (of terms that differ) and the sum
/// itself (of terms that are equal and round alike), at most all of them.
inline double spreadOf(double sum, double magnitude, double squares) {
  return std::min(magnitude, std::fabs(sum) + 2 * std::sqrt(squares));
}

inline bool unknown(Real x) { return std::isinf(x.error); }
inline bool mayBeZero(Real x) { return x.error > 0 && !(std::fabs(x.value) > x.error); }

/// Exactly zero, whoever computes it; a zero that float64 has by underflow is none.
inline bool isZero(Real x) { return x.value == 0 && x.error == 0; }

/// The bound `error` of a product, quotient or power `v` of what is not exactly zero: float64 may
/// have lost both, and 0 +- 0 would pass for a zero by which a division is NaN for everybody.
inline double beyondUnderflow(double v, double error) {
  return std::fabs(v) < kTiny ? std::max(error, kTiny) : error;
}

/// A result whose bound is `error`; bounds that came out as NaN mean unknown.
inline Real bounded(double value, double error) {
  return {value, std::isnan(error) ? kUnknown : error};
}

inline Real add(Real x, Real y, double u) {
  double v = x.value + y.value;
  if (unknown(x) || unknown(y))
    return {v, kUnknown};
  return std::isfinite(v) ? Real{v, x.error + y.error + u * std::fabs(v)} : Real{v, 0};
}

inline Real subtract(Real x, Real y, double u) { return add(x, {-y.value, y.error}, u); }

/// attn.sub: -inf on the left absorbs.
inline Real subtractAbsorbing(Real x, Real y, double u) {
  if (x.value == -std::numeric_limits<double>::infinity())
    return {x.value, unknown(x) ? kUnknown : 0};
  return subtract(x, y, u);
}

/// What a product or quotient may lose below the normal numbers of f32: all of it.
inline double flushed(double v, double u) {
  return u != kUnitF64 && v != 0 && std::fabs(v) < 2 * kFlushF32 ? kFlushF32 : 0;
}

inline Real multiply(Real x, Real y, double u) {
  double v = x.value * y.value;
  if (!std::isfinite(v))
    return {v, mayBeZero(x) || mayBeZero(y) ? kUnknown : 0};
  double error = std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error +
                 u * std::fabs(v) + flushed(v, u);
  return bounded(v, isZero(x) || isZero(y) ? error : beyondUnderflow(v, error));
}

inline Real divide(Real x, Real y, double u) {
  double v = x.value / y.value;
  if (unknown(x) || mayBeZero(y))
    return {v, kUnknown};
  if (!std::isfinite(v) || std::isinf(y.value))
    return {v, 0};
  double error = (x.error + std::fabs(v) * y.error) / (std::fabs(y.value) - y.error) +
                 3 * u * std::fabs(v) + flushed(v, u);
  return bounded(v, isZero(x) ? error : beyondUnderflow(v, error));
}

/// The result lies in [f(lowest arguments), f(highest arguments)], f monotone.
inline Real between(double v, double lo, double hi, double rounding) {
  if (!std::isfinite(v))
    return {v, lo == v && hi == v ? 0.0 : std::isnan(v) ? 0.0 : kUnknown};
  return bounded(v, std::max(v - lo, hi - v) + rounding);
}

inline double low(Real x) { return unknown(x) ? -kUnknown : x.value - x.error; }
inline double high(Real x) { return unknown(x) ? kUnknown : x.value + x.error; }

inline Real maximum(Real x, Real y) {
  if (std::isnan(x.value) || std::isnan(y.value))
    return {std::numeric_limits<double>::quiet_NaN(), 0};
  return between(std::max(x.value, y.value), std::max(low(x), low(y)), std::max(high(x), high(y)),
                 0);
}

inline Real negate(Real x) { return {-x.value, x.error}; }
inline Real minimum(Real x, Real y) { return negate(maximum(negate(x), negate(y))); }
inline Real absolute(Real x) { return {std::fabs(x.value), x.error}; }

/// exp, computed as 2^(x log2 e): the product's rounding is u|x|, the constant's another u|x|, and
/// the hardware's exp2 is off by up to 4u. A f32 result may be flushed to zero. Where the argument
/// may be off by more than 1, as of scores beside a mask of -1e9, nothing is said of the result; an
/// infinite one is exact if it is infinite in f32 wherever the argument lies.
inline Real exponential(Real x, double u) {
  double v = std::exp(x.value);
  if (unknown(x))
    return {v, kUnknown};
  if (!std::isfinite(x.value))
    return {v, 0};
  double off = x.error + u * (4 + 2 * std::fabs(x.value));
  if (std::isinf(v)) {
    double least = std::exp(x.value - off);
    return {v, u == kUnitF64 ? (std::isinf(least) ? 0 : kUnknown)
                             : (least > kLargestF32 ? 0 : kUnknown)};
  }
  if (u != kUnitF64 && x.value + x.error < kExpUnderflow)
    return {v, std::max(v, kTiny)};
  if (off > 1)
    return {v, v == 0 ? kTiny : kUnknown};
  double floor = u == kUnitF64 ? (v < kTiny ? kTiny : 0) : kFlushF32;
  return {v, v * std::expm1(off) + floor};
}

inline Real exponential2(Real x, double u) {
  constexpr double ln2 = 0.69314718055994530942;
  Real r = exponential({x.value * ln2, x.error * ln2}, u);
  return {std::exp2(x.value), r.error};
}

/// log: 3 ulp, or 4u absolute near 1 (the hardware's log2).
inline Real logarithm(Real x, double u) {
  double v = std::log(x.value);
  if (mayBeZero(x))
    return {v, kUnknown};
  if (!std::isfinite(v))
    return {v, 0};
  return bounded(v, -std::log1p(-x.error / x.value) + u * (4 + 3 * std::fabs(v)));
}

inline Real logarithm2(Real x, double u) {
  constexpr double log2e = 1.44269504088896340736;
  return {std::log2(x.value), logarithm(x, u).error * log2e};
}

inline Real squareRoot(Real x, double u) {
  double v = std::sqrt(x.value);
  if (x.error > 0 && x.value < 0)
    return {v, kUnknown};
  return between(v, std::sqrt(std::max(low(x), 0.0)), std::sqrt(high(x)), 3 * u * v);
}

inline Real reciprocalRoot(Real x, double u) {
  double v = 1 / std::sqrt(x.value);
  if (mayBeZero(x))
    return {v, kUnknown};
  return between(v, 1 / std::sqrt(high(x)), 1 / std::sqrt(low(x)), 4 * u * v);
}

/// A function with derivative at most `slope` near x and a relative error of `ulps` half-ulps.
inline Real smooth(double v, double slope, Real x, double ulps, double u) {
  if (unknown(x))
    return {v, kUnknown};
  return std::isfinite(v) ? bounded(v, slope * x.error + ulps * u * std::fabs(v)) : Real{v, 0};
}

inline Real hyperbolicTangent(Real x, double u) {
  double v = std::tanh(x.value);
  // The slope is largest at the end of the interval that is nearer to 0.
  double t = std::tanh(std::max(std::fabs(x.value) - x.error, 0.0));
  return smooth(v, 1 - t * t, x, 8, u);
}

inline Real errorFunction(Real x, double u) {
  double nearest = std::max(std::fabs(x.value) - x.error, 0.0);
  double slope = 1.12837916709551257390 * std::exp(-nearest * nearest);
  return smooth(std::erf(x.value), slope, x, 8, u);
}

inline Real sine(Real x, double u) {
  Real r = smooth(std::sin(x.value), 1, x, 4, u);
  return {r.value, r.error + 4 * u};
}

inline Real cosine(Real x, double u) {
  Real r = smooth(std::cos(x.value), 1, x, 4, u);
  return {r.value, r.error + 4 * u};
}

inline Real power(Real x, Real y, double u) {
  double v = std::pow(x.value, y.value);
  if (unknown(x) || unknown(y) || (mayBeZero(x) && y.value < 0))
    return {v, kUnknown};
  if (!std::isfinite(v))
    return {v, 0};
  if (isZero(x) && y.error == 0)
    return {v, 0};
  if (x.value == 0)
    return {v, beyondUnderflow(v, std::pow(x.error, y.value - y.error))};
  double base = std::fabs(std::log(std::fabs(x.value)));
  double slope = std::fabs(y.value) * x.error / std::fabs(x.value) + base * y.error;
  double error = std::fabs(v) * (slope + u * (8 + 2 * std::fabs(y.value) * base));
  return bounded(v, beyondUnderflow(v, error));
}

/// floor and ceil: exact unless an integer lies within reach.
inline Real floorOf(Real x) {
  return between(std::floor(x.value), std::floor(low(x)), std::floor(high(x)), 0);
}
inline Real ceilOf(Real x) { return negate(floorOf(negate(x))); }

/// An f64 as an f32, of unit `u`.
inline Real narrowed(Real x, double u) {
  return std::isfinite(x.value) ? Real{x.value, x.error + u * std::fabs(x.value)} : x;
}

/// A value rounded to a 16-bit type of unit `u` by `round`: exact if it is, else two neighbours may
/// be meant, a subnormal apart by `floor`. Near the largest number it may become infinite or not.
inline Real rounded(Real x, double u, double floor, double (*round)(double)) {
  double v = round(x.value);
  if (x.error == 0)
    return {v, 0};
  if (std::isinf(round(low(x))) != std::isinf(round(high(x))))
    return {v, kUnknown};
  return std::isfinite(v) ? Real{v, x.error + 2 * u * std::fabs(v) + floor} : Real{v, 0};
}

/// Comparison of two floats: `holds` for the computed values, in doubt if they are too close.
inline Whole compared(Real x, Real y, bool holds) {
  double reach = x.error + y.error;
  bool doubt = reach > kExactReach && !std::isnan(x.value) && !std::isnan(y.value) &&
               !(std::fabs(x.value - y.value) > reach);
  return {holds, doubt ? 1.0 : 0.0};
}

inline Real select(Whole condition, Real t, Real f) {
  Real taken = condition.value ? t : f;
  if (condition.error == 0)
    return taken;
  bool same = t.value == f.value || (std::isnan(t.value) && std::isnan(f.value));
  return bounded(taken.value, (same ? 0 : std::fabs(t.value - f.value)) + t.error + f.error);
}

inline Whole select(Whole condition, Whole t, Whole f) {
  Whole taken = condition.value ? t : f;
  if (condition.error == 0)
    return taken;
  double gap = std::fabs(static_cast<double>(t.value) - static_cast<double>(f.value));
  return {taken.value, gap + t.error + f.error};
}

/// Conversion to an integer, towards zero; out of range it saturates and NaN gives 0.
inline Whole truncated(Real x) {
  constexpr double limit = 0x1p63;
  double t = std::trunc(x.value);
  int64_t v = std::isnan(t) ? 0
              : t >= limit  ? std::numeric_limits<int64_t>::max()
              : t < -limit  ? std::numeric_limits<int64_t>::min()
                            : static_cast<int64_t>(t);
  return {v, x.error == 0 ? 0 : std::trunc(high(x)) - std::trunc(low(x))};
}

inline Real converted(Whole x, double u) {
  double v = static_cast<double>(x.value);
  // Integers below 1/u are exact.
  return {v, x.error + (std::fabs(v) * u > 1 ? u * std::fabs(v) : 0)};
}

//===----------------------------------------------------------------------===//
// Integers: wrapping, no undefined behaviour
//===----------------------------------------------------------------------===//

inline int64_t wrapped(uint64_t v) { return static_cast<int64_t>(v); }

/// The result of an integer op that has no useful bound when an operand is in doubt.
inline Whole exactOrUnknown(int64_t v, Whole x, Whole y) {
  return {v, x.error == 0 && y.error == 0 ? 0 : kUnknown};
}

inline Whole add(Whole x, Whole y) {
  return {wrapped(uint64_t(x.value) + uint64_t(y.value)), x.error + y.error};
}
inline Whole subtract(Whole x, Whole y) {
  return {wrapped(uint64_t(x.value) - uint64_t(y.value)), x.error + y.error};
}
inline Whole multiply(Whole x, Whole y) {
  return exactOrUnknown(wrapped(uint64_t(x.value) * uint64_t(y.value)), x, y);
}

/// x / y towards zero; 0 if y is 0, and the one overflow wraps.
inline int64_t quotient(int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  return y == -1 ? wrapped(0 - uint64_t(x)) : x / y;
}
inline int64_t remainder(int64_t x, int64_t y) {
  return y == 0 ? 0 : wrapped(uint64_t(x) - uint64_t(quotient(x, y)) * uint64_t(y));
}
inline int64_t floorQuotient(int64_t x, int64_t y) {
  int64_t r = remainder(x, y);
  return quotient(x, y) - (r != 0 && (r < 0) != (y < 0));
}
inline int64_t floorRemainder(int64_t x, int64_t y) {
  int64_t r = remainder(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/// Conjunction of booleans: a certain false settles it.
inline Whole conjunction(Whole x, Whole y) {
  bool settled = (x.error == 0 && !x.value) || (y.error == 0 && !y.value);
  return {x.value & y.value, settled ? 0 : std::max(x.error, y.error)};
}
inline Whole disjunction(Whole x, Whole y) {
  bool settled = (x.error == 0 && x.value == 1) || (y.error == 0 && y.value == 1);
  return {x.value | y.value, settled ? 0 : std::max(x.error, y.error)};
}

inline Whole compared(Whole x, Whole y, bool holds) {
  double reach = x.error + y.error;
  double gap = std::fabs(static_cast<double>(x.value) - static_cast<double>(y.value));
  return {holds, reach > 0 && gap <= reach ? 1.0 : 0.0};
}

} // namespace attnc::evaluator

#endif
