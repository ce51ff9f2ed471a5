#include "runtime/program/disjoint.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace attnc {

namespace {

struct Axis {
  std::int64_t extent;
  std::int64_t stride; ///< in bytes
};

/// Axes with more than one element, by ascending stride. Only of views whose span fits.
std::vector<Axis> movingAxes(const TensorRef &tensor) {
  std::vector<Axis> axes;
  auto size = static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis)
    if (tensor.shape[axis] > 1)
      axes.push_back({tensor.shape[axis], tensor.strides[axis] * size});
  std::sort(axes.begin(), axes.end(),
            [](const Axis &a, const Axis &b) { return a.stride < b.stride; });
  return axes;
}

/// Bytes spanned by one element and the axes whose stride is below `limit`.
std::int64_t innerSpan(const std::vector<Axis> &axes, std::int64_t limit,
                       std::int64_t elementSize) {
  std::int64_t span = elementSize;
  for (const Axis &axis : axes)
    if (axis.stride < limit)
      span += (axis.extent - 1) * axis.stride;
  return span;
}

/// Every address of a view is (its base + something inside the inner span) modulo the common
/// divisor of the outer strides; two views whose inner spans do not meet modulo that never meet.
bool apartModulo(std::int64_t period, std::uintptr_t a, std::int64_t spanA, std::uintptr_t b,
                 std::int64_t spanB) {
  auto modulus = static_cast<std::uintptr_t>(period);
  auto fromAToB = static_cast<std::int64_t>((b % modulus + modulus - a % modulus) % modulus);
  return fromAToB >= spanA && period - fromAToB >= spanB;
}

} // namespace

std::optional<std::int64_t> spanBytes(const TensorRef &tensor) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] == 0)
      return 0;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  std::int64_t bytes = 0;
  auto size = static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  if (__builtin_add_overflow(last, std::int64_t(1), &last) ||
      __builtin_mul_overflow(last, size, &bytes))
    return std::nullopt;
  return bytes;
}

bool elementsAreDistinct(const TensorRef &tensor) {
  auto span = static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  for (const Axis &axis : movingAxes(tensor)) {
    if (axis.stride < span)
      return false;
    span += (axis.extent - 1) * axis.stride;
  }
  return true;
}

bool areDisjoint(const TensorRef &a, const TensorRef &b) {
  std::int64_t wholeA = spanBytes(a).value_or(INT64_MAX);
  std::int64_t wholeB = spanBytes(b).value_or(INT64_MAX);
  auto beginA = reinterpret_cast<std::uintptr_t>(a.data);
  auto beginB = reinterpret_cast<std::uintptr_t>(b.data);
  if (wholeA == 0 || wholeB == 0)
    return true;
  if (beginA < beginB ? beginB - beginA >= static_cast<std::uintptr_t>(wholeA)
                      : beginA - beginB >= static_cast<std::uintptr_t>(wholeB))
    return true;

  std::vector<Axis> axesA = movingAxes(a), axesB = movingAxes(b);
  std::set<std::int64_t> limits;
  for (const auto *axes : {&axesA, &axesB})
    for (const Axis &axis : *axes)
      limits.insert(axis.stride);
  for (std::int64_t limit : limits) {
    std::int64_t period = 0;
    for (const auto *axes : {&axesA, &axesB})
      for (const Axis &axis : *axes)
        if (axis.stride >= limit)
          period = std::gcd(period, axis.stride);
    if (period > 0 &&
        apartModulo(period, beginA,
                    innerSpan(axesA, limit, static_cast<std::int64_t>(dtypeSize(a.dtype))), beginB,
                    innerSpan(axesB, limit, static_cast<std::int64_t>(dtypeSize(b.dtype)))))
      return true;
  }
  return false;
}

} // namespace attnc
