#include "compiler/evaluator/reverse/row_rules.h"
#include "compiler/evaluator/tolerance/error_rules.h"

#include <numeric>

using namespace mlir;

namespace attnc::evaluator {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double productOf(ArrayRef<double> row) {
  return std::accumulate(row.begin(), row.end(), 1.0, std::multiplies<>());
}

/// NaN if any is.
double largestOf(ArrayRef<double> row) {
  double largest = -kInfinity;
  for (double x : row) {
    if (std::isnan(x))
      return x;
    largest = std::max(largest, x);
  }
  return largest;
}

double smallestOf(ArrayRef<double> row) {
  std::vector<double> negated;
  for (double x : row)
    negated.push_back(-x);
  return -largestOf(negated);
}

/// exp(x - largest), where a largest of -inf gives 0 and not NaN.
double weightOf(double x, double largest) { return x == -kInfinity ? 0 : std::exp(x - largest); }

double logSumExpOf(ArrayRef<double> row) {
  double largest = largestOf(row), sum = 0;
  if (largest == -kInfinity)
    return largest;
  for (double x : row)
    sum += weightOf(x, largest);
  return largest + std::log(sum);
}

/// From the products of what stands before and behind each element: no quotient, so zeros are as
/// good as other numbers.
void gradientOfProduct(ArrayRef<double> row, double g, MutableArrayRef<double> gradient) {
  double before = 1, behind = 1;
  for (size_t k = 0; k < row.size(); ++k) {
    gradient[k] = before;
    before *= row[k];
  }
  for (size_t k = row.size(); k-- > 0;) {
    gradient[k] = g * (gradient[k] * behind);
    behind *= row[k];
  }
}

// `nothing` is the extremum of a row that is masked as a whole.
void gradientOfExtremum(ArrayRef<double> row, double extremum, double nothing, double g,
                        MutableArrayRef<double> gradient) {
  double winners = static_cast<double>(llvm::count(row, extremum));
  for (auto [x, share] : llvm::zip_equal(row, gradient))
    share = x == extremum && extremum != nothing ? g / winners : 0;
}

void gradientOfLogSumExp(ArrayRef<double> row, double result, double g,
                         MutableArrayRef<double> gradient) {
  if (result == -kInfinity) {
    llvm::fill(gradient, 0);
    return;
  }
  softmaxOfRow(row, gradient);
  for (double &weight : gradient)
    weight *= g;
}

} // namespace

double reduceRow(attn::ReduceKind kind, ArrayRef<double> row) {
  switch (kind) {
  case attn::ReduceKind::Mul:
    return productOf(row);
  case attn::ReduceKind::Max:
    return largestOf(row);
  case attn::ReduceKind::Min:
    return smallestOf(row);
  case attn::ReduceKind::LogSumExp:
    return logSumExpOf(row);
  default:
    llvm_unreachable("sums are not reduced row by row, conditions are no reals");
  }
}

int64_t reduceRow(attn::ReduceKind kind, ArrayRef<int64_t> row) {
  using Limits = std::numeric_limits<int64_t>;
  auto fold = [&](int64_t of, auto combine) {
    return std::accumulate(row.begin(), row.end(), of, combine);
  };
  switch (kind) {
  case attn::ReduceKind::Add:
    return fold(0, [](int64_t x, int64_t y) { return add(Whole{x, 0}, Whole{y, 0}).value; });
  case attn::ReduceKind::Mul:
    return fold(1, [](int64_t x, int64_t y) { return multiply(Whole{x, 0}, Whole{y, 0}).value; });
  case attn::ReduceKind::Max:
    return fold(Limits::min(), [](int64_t x, int64_t y) { return std::max(x, y); });
  case attn::ReduceKind::Min:
    return fold(Limits::max(), [](int64_t x, int64_t y) { return std::min(x, y); });
  case attn::ReduceKind::And:
    return fold(1, std::bit_and<>());
  case attn::ReduceKind::Or:
    return fold(0, std::bit_or<>());
  default:
    llvm_unreachable("means and logarithms are reals");
  }
}

void softmaxOfRow(ArrayRef<double> row, MutableArrayRef<double> weights) {
  double largest = largestOf(row), sum = 0;
  for (auto [x, weight] : llvm::zip_equal(row, weights))
    sum += weight = weightOf(x, largest);
  for (double &weight : weights)
    weight = sum == 0 ? 0 : weight / sum;
}

void gradientOfReducedRow(attn::ReduceKind kind, ArrayRef<double> row, double result, double g,
                          MutableArrayRef<double> gradient) {
  if (g == 0)
    llvm::fill(gradient, 0);
  else if (kind == attn::ReduceKind::Mul)
    gradientOfProduct(row, g, gradient);
  else if (kind == attn::ReduceKind::LogSumExp)
    gradientOfLogSumExp(row, result, g, gradient);
  else
    gradientOfExtremum(row, result, kind == attn::ReduceKind::Max ? -kInfinity : kInfinity, g,
                       gradient);
}

void gradientOfSoftmaxRow(ArrayRef<double> weights, ArrayRef<double> g,
                          MutableArrayRef<double> gradient, Sweep sweep) {
  double mean = 0;
  for (auto [weight, adjoint] : llvm::zip_equal(weights, g))
    if (weight != 0 && adjoint != 0)
      mean += weight * adjoint;
  for (auto [weight, adjoint, share] : llvm::zip_equal(weights, g, gradient)) {
    double difference = sweep == Sweep::Gradients ? adjoint - mean : adjoint + mean;
    share = weight == 0 || difference == 0 ? 0 : weight * difference;
  }
}

} // namespace attnc::evaluator
