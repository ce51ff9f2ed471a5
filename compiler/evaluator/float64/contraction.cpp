#include "compiler/evaluator/float64/contraction.h"
#include "compiler/evaluator/float64/emulated.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// The rounding of a computed operand to the type of its 16-bit partner; zero if there is none.
struct OperandRounding {
  double unit = 0, floor = 0;
};

bool dependsOn(const Tensor &tensor, const Space &space) {
  return llvm::any_of(space.dims, [&](StringAttr dim) { return tensor.hasDim(dim); });
}

/// The 16-bit operands that `factor` may be, or may be taken apart into: itself, or those factors
/// of the sum that it is which depend on a reduced dim.
std::vector<NarrowFactor> partnersIn(const Tensor &factor, const Space &reduced) {
  std::vector<NarrowFactor> partners;
  if (factor.narrowUnit > 0)
    partners.push_back({factor.dims, factor.narrowUnit, factor.narrowFloor});
  llvm::copy_if(factor.narrowFactors, std::back_inserter(partners), [&](const NarrowFactor &inner) {
    return llvm::any_of(reduced.dims,
                        [&](StringAttr dim) { return llvm::is_contained(inner.dims, dim); });
  });
  return partners;
}

OperandRounding operandRounding(ArrayRef<Tensor> factors, const Space &reduced) {
  OperandRounding rounding;
  for (auto [i, factor] : llvm::enumerate(factors)) {
    // A factor without a reduced dim leaves the sum; it is no operand of the contraction.
    bool meetsComputed = false;
    for (auto [k, other] : llvm::enumerate(factors))
      meetsComputed |= k != i && !other.isRead && dependsOn(other, reduced);
    if (!meetsComputed)
      continue;
    for (const NarrowFactor &partner : partnersIn(factor, reduced)) {
      rounding.unit = std::max(rounding.unit, partner.unit);
      rounding.floor = std::max(rounding.floor, partner.floor);
    }
  }
  return rounding;
}

/// Of the sum of products of `factors`.
std::vector<NarrowFactor> narrowFactorsOf(ArrayRef<Tensor> factors) {
  std::vector<NarrowFactor> all;
  for (const Tensor &factor : factors) {
    if (factor.narrowUnit > 0)
      all.push_back({factor.dims, factor.narrowUnit, factor.narrowFloor});
    llvm::append_range(all, factor.narrowFactors);
  }
  return all;
}

/// Dims of `space` split by which operand has them.
struct Axes {
  Extents shape, left, right, result;

  void append(int64_t extent, int64_t l, int64_t r, int64_t out) {
    shape.push_back(extent);
    left.push_back(l);
    right.push_back(r);
    result.push_back(out);
  }
};

/// Rows of a block: its panel of the left operand stays in the L2 cache.
constexpr int64_t kRows = 32;

/// C[m, n] = sum_k A[m, k] B[k, n] for each batch, with
/// E[m, n] = sum_k weight(A)[m, k] |B|[k, n] + |A|[m, k] error(B)[k, n],
/// where |.| is the gross magnitude, and with what the rounding of an operand to 16 bits adds.
class Contraction {
public:
  Contraction(Tensor leftOperand, Tensor rightOperand, const Space &kept, const Space &reduced,
              double unit, OperandRounding rounding)
      : a(std::move(leftOperand)), b(std::move(rightOperand)), rounding(rounding),
        growth(unit * sumGrowth(reduced.size())) {
    // The inner loop runs over the columns: let it be the longer side.
    if (exclusive(b, a, kept) < 8 && exclusive(a, b, kept) > exclusive(b, a, kept))
      std::swap(a, b);
    Extents out = rowMajor(kept.shape);
    for (auto [axis, dim] : llvm::enumerate(kept.dims)) {
      Axes &axes = !b.hasDim(dim) ? rows : !a.hasDim(dim) ? columns : batches;
      axes.append(kept.shape[axis], a.strideOf(dim), b.strideOf(dim), out[axis]);
    }
    for (auto [axis, dim] : llvm::enumerate(reduced.dims))
      depth.append(reduced.shape[axis], a.strideOf(dim), b.strideOf(dim), 0);
    inexactRight = b.error || (rounding.floor > 0 && !b.isRead);
    // Of terms that are added up apart each is rounded, and their own sums are not known.
    isSpread = rounding.unit > 0 && !a.gross && !b.gross;
    if (!isSpread)
      growth += rounding.unit;
  }

  void run(Workplace work, Tensor &result) {
    batchLeft = offsetsOf(batches.shape, batches.left);
    batchRight = offsetsOf(batches.shape, batches.right);
    batchOut = offsetsOf(batches.shape, batches.result);
    rowLeft = offsetsOf(rows.shape, rows.left);
    rowOut = offsetsOf(rows.shape, rows.result);
    columnRight = offsetsOf(columns.shape, columns.right);
    columnOut = offsetsOf(columns.shape, columns.result);
    depthLeft = offsetsOf(depth.shape, depth.left);
    depthRight = offsetsOf(depth.shape, depth.right);
    int64_t blocks = (rowLeft.size() + kRows - 1) / kRows;
    parallelFor(batchLeft.size() * blocks, 1, work.threads, [&](int64_t begin, int64_t end) {
      Panels panels;
      for (int64_t item = begin; item < end; ++item)
        runBlock(panels, item / blocks, item % blocks * kRows, *result.storage);
    });
  }

private:
  struct Panels {
    int64_t batch = -1; // of the right panel
    std::vector<double> left, leftMagnitude, leftWeight;
    std::vector<double> right, rightMagnitude, rightError;
    std::vector<double> leftSquare, rightSquare;
    std::vector<double> sum, bound, magnitude, square;
  };

  static int64_t exclusive(const Tensor &x, const Tensor &y, const Space &kept) {
    int64_t n = 1;
    for (auto [dim, extent] : llvm::zip_equal(kept.dims, kept.shape))
      if (x.hasDim(dim) && !y.hasDim(dim))
        n *= extent;
    return n;
  }

  void packRight(Panels &p, int64_t batch) const {
    if (p.batch == batch)
      return;
    p.batch = batch;
    size_t size = depthRight.size() * columnRight.size();
    p.right.resize(size);
    p.rightMagnitude.resize(size);
    p.rightError.resize(inexactRight ? size : 0);
    p.rightSquare.resize(isSpread ? size : 0);
    bool rounded = !b.isRead;
    size_t at = 0;
    for (int64_t k : depthRight)
      for (int64_t n : columnRight) {
        int64_t offset = batchRight[batch] + k + n;
        p.right[at] = b.value[offset];
        p.rightMagnitude[at] = b.grossAt(offset);
        if (isSpread)
          p.rightSquare[at] = p.right[at] * p.right[at];
        if (inexactRight)
          p.rightError[at] = (b.error ? b.error[offset] : 0) +
                             (rounded ? std::min(b.grossAt(offset), rounding.floor) : 0);
        ++at;
      }
  }

  void packLeft(Panels &p, int64_t batch, int64_t firstRow, int64_t count) const {
    size_t size = count * depthLeft.size();
    p.left.resize(size);
    p.leftMagnitude.resize(size);
    p.leftWeight.resize(size);
    p.leftSquare.resize(isSpread ? size : 0);
    size_t at = 0;
    for (int64_t m = firstRow; m < firstRow + count; ++m)
      for (int64_t k : depthLeft) {
        int64_t offset = batchLeft[batch] + rowLeft[m] + k;
        double magnitude = a.grossAt(offset);
        p.left[at] = a.value[offset];
        p.leftMagnitude[at] = magnitude;
        if (isSpread)
          p.leftSquare[at] = magnitude * magnitude;
        p.leftWeight[at] = growth * magnitude + (a.error ? a.error[offset] : 0) +
                           (a.isRead ? 0 : std::min(magnitude, rounding.floor));
        ++at;
      }
  }

  void runBlock(Panels &p, int64_t batch, int64_t firstRow, Storage &result) const {
    int64_t count = std::min<int64_t>(kRows, rowLeft.size() - firstRow);
    int64_t n = columnRight.size(), depth = depthLeft.size();
    packRight(p, batch);
    packLeft(p, batch, firstRow, count);
    p.sum.assign(count * n, 0);
    p.bound.assign(count * n, 0);
    multiplyAdd(p.left, p.right, p.sum, count, depth, n);
    multiplyAdd(p.leftWeight, p.rightMagnitude, p.bound, count, depth, n);
    if (inexactRight)
      multiplyAdd(p.leftMagnitude, p.rightError, p.bound, count, depth, n);
    if (isSpread)
      addOperandRounding(p, count, depth, n);
    for (int64_t m = 0; m < count; ++m) {
      bool isZeroRow = true;
      for (int64_t k = m * depth; k < (m + 1) * depth; ++k)
        isZeroRow &= isZero({p.left[k], p.leftWeight[k]});
      for (int64_t j = 0; j < n; ++j) {
        int64_t at = batchOut[batch] + rowOut[firstRow + m] + columnOut[j];
        double value = p.sum[m * n + j], bound = p.bound[m * n + j];
        result.value[at] = value;
        if (!isZeroRow && bound < kTiny && isLost(p, m, j, depth, n))
          bound = kTiny;
        result.error[at] = std::isfinite(value) ? bounded(value, bound).error
                                                : errorBeyond(batch, firstRow + m, j);
      }
    }
  }

  /// True if a product of the sum is not exactly zero, though its bound may be (beyondUnderflow).
  bool isLost(const Panels &p, int64_t row, int64_t column, int64_t depth, int64_t n) const {
    for (int64_t k = 0; k < depth; ++k) {
      int64_t x = row * depth + k, y = k * n + column;
      if (!isZero({p.left[x], p.leftWeight[x]}) &&
          !isZero({p.right[y], inexactRight ? p.rightError[y] : 0}))
        return true;
    }
    return false;
  }

  /// The bound of a sum that is not finite, as of SumFold: unknown if a product is.
  double errorBeyond(int64_t batch, int64_t row, int64_t column) const {
    for (auto [left, right] : llvm::zip_equal(depthLeft, depthRight)) {
      int64_t x = batchLeft[batch] + rowLeft[row] + left;
      int64_t y = batchRight[batch] + columnRight[column] + right;
      Real product = multiply({a.value[x], a.error ? a.error[x] : 0},
                              {b.value[y], b.error ? b.error[y] : 0}, kUnitF32);
      if (unknown(product))
        return kUnknown;
    }
    return 0;
  }

  /// The products of a rounded operand err apart, like a random walk, but for what equal elements
  /// have in common.
  void addOperandRounding(Panels &p, int64_t rows, int64_t depth, int64_t n) const {
    p.magnitude.assign(rows * n, 0);
    p.square.assign(rows * n, 0);
    multiplyAdd(p.leftMagnitude, p.rightMagnitude, p.magnitude, rows, depth, n);
    multiplyAdd(p.leftSquare, p.rightSquare, p.square, rows, depth, n);
    for (int64_t i = 0; i < rows * n; ++i)
      p.bound[i] += rounding.unit * spreadOf(p.sum[i], p.magnitude[i], p.square[i]);
  }

  /// c[m, n] += x[m, k] y[k, n]; a stretch of c stays in the L1 cache while k runs.
  static void multiplyAdd(const std::vector<double> &x, const std::vector<double> &y,
                          std::vector<double> &c, int64_t rows, int64_t depth, int64_t n) {
    constexpr int64_t stretch = 512, slab = 32;
    for (int64_t j = 0; j < n; j += stretch)
      for (int64_t k0 = 0; k0 < depth; k0 += slab) {
        int64_t width = std::min(stretch, n - j), k1 = std::min(depth, k0 + slab);
        for (int64_t m = 0; m < rows; ++m)
          multiplyAddRow(&x[m * depth], &y[j], &c[m * n + j], k0, k1, n, width);
      }
  }

  static void multiplyAddRow(const double *x, const double *y, double *__restrict c, int64_t k,
                             int64_t end, int64_t n, int64_t width) {
    for (; k + 4 <= end; k += 4) {
      double x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
      const double *y0 = y + k * n, *y1 = y0 + n, *y2 = y1 + n, *y3 = y2 + n;
      for (int64_t j = 0; j < width; ++j)
        c[j] += (x0 * y0[j] + x1 * y1[j]) + (x2 * y2[j] + x3 * y3[j]);
    }
    for (; k < end; ++k)
      for (int64_t j = 0; j < width; ++j)
        c[j] += x[k] * y[k * n + j];
  }

  Tensor a, b;
  OperandRounding rounding;
  double growth;
  bool inexactRight, isSpread;
  Axes batches, rows, columns, depth;
  std::vector<int64_t> batchLeft, batchRight, batchOut, rowLeft, rowOut, columnRight, columnOut,
      depthLeft, depthRight;
};

bool contains(const Tensor &large, const Tensor &small) {
  return llvm::all_of(small.dims, [&](StringAttr dim) { return large.hasDim(dim); });
}

/// The space of the product of two arrays, in the order of `all`.
Space unionSpace(const Tensor &x, const Tensor &y, const Space &kept, const Space &reduced) {
  Space space;
  for (const Space *part : {&kept, &reduced})
    for (auto [dim, extent] : llvm::zip_equal(part->dims, part->shape))
      if (x.hasDim(dim) || y.hasDim(dim)) {
        space.dims.push_back(dim);
        space.shape.push_back(extent);
      }
  return space;
}

/// Multiplies the two factors whose product is the smallest array, element by element. A factor
/// whose dims are among another's merges into it for free.
llvm::Error mergeTwo(Workplace work, std::vector<Tensor> &factors, const Space &kept,
                     const Space &reduced, double unit) {
  size_t first = 0, second = 1;
  double best = kUnknown;
  for (size_t i = 0; i < factors.size(); ++i)
    for (size_t j = i + 1; j < factors.size(); ++j) {
      bool free = contains(factors[i], factors[j]) || contains(factors[j], factors[i]);
      double size = unionSpace(factors[i], factors[j], kept, reduced).size() * (free ? 1.0 : 16.0);
      if (size < best)
        best = size, first = i, second = j;
    }
  Space space = unionSpace(factors[first], factors[second], kept, reduced);
  llvm::Expected<Tensor> merged =
      evaluateElements(work, ScalarProgram::product(factors[first], factors[second], unit), space);
  if (!merged)
    return merged.takeError();
  factors.erase(factors.begin() + second);
  factors[first] = std::move(*merged);
  return llvm::Error::success();
}

} // namespace

bool isContraction(ArrayRef<Tensor> factors, const Space &kept, const Space &reduced) {
  if (factors.size() < 2)
    return false;
  if (operandRounding(factors, reduced).unit > 0)
    return true;
  size_t rank = kept.dims.size() + reduced.dims.size();
  return llvm::none_of(factors, [&](const Tensor &f) { return f.dims.size() == rank; });
}

llvm::Expected<Tensor> sumOfProducts(Workplace work, std::vector<Tensor> factors, const Space &kept,
                                     const Space &reduced, double unit) {
  OperandRounding rounding = operandRounding(factors, reduced);
  if (llvm::count_if(factors, [&](const Tensor &f) { return dependsOn(f, reduced); }) > 1)
    rounding.unit = std::max(rounding.unit, 2 * work.productUnit); // both sides are rounded
  std::vector<NarrowFactor> narrow = narrowFactorsOf(factors);
  while (factors.size() > 2)
    if (llvm::Error error = mergeTwo(work, factors, kept, reduced, unit))
      return error;
  if (factors.size() == 1)
    return reduceElements(work, ScalarProgram::identity(factors.front()), attn::ReduceKind::Add,
                          kept, reduced, unit);
  llvm::Expected<Tensor> result = makeTensor(work.memory, kept.dims, kept.shape, ElementKind::Real);
  if (!result)
    return result;
  if (work.emulates())
    emulatedContraction(work, factors[0], factors[1], kept, reduced, unit, *result);
  else
    Contraction(factors[0], factors[1], kept, reduced, unit, rounding).run(work, *result);
  result->narrowFactors = std::move(narrow);
  return result;
}

llvm::Expected<Tensor> sumOfRoundedProducts(Workplace work, std::vector<Tensor> factors,
                                            size_t narrow, const Space &kept, const Space &reduced,
                                            double unit) {
  Tensor read = factors[narrow];
  factors.erase(factors.begin() + narrow);
  while (factors.size() > 1)
    if (llvm::Error error = mergeTwo(work, factors, kept, reduced, unit))
      return error;
  ScalarProgram operand = ScalarProgram::apply(roundingRule(read.narrowUnit), factors);
  Space space = unionSpace(factors[0], factors[0], kept, reduced);
  llvm::Expected<Tensor> rounded = evaluateElements(work, std::move(operand), space);
  if (!rounded)
    return rounded;
  return sumOfProducts(work, {std::move(*rounded), std::move(read)}, kept, reduced, unit);
}

} // namespace attnc::evaluator
