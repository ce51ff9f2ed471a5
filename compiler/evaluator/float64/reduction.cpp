#include "compiler/evaluator/float64/reduction.h"
#include "compiler/evaluator/float64/emulated.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// Folds state what one element adds and, at the end, value and bound.
struct SumFold {
  double value = 0, error = 0, magnitude = 0;

  void take(Real x, double gross) {
    value += x.value;
    error += x.error;
    magnitude += gross;
  }
  Real finish(int64_t count, double unit) const {
    if (!std::isfinite(value))
      return {value, std::isinf(error) ? kUnknown : 0};
    return bounded(value, error + unit * sumGrowth(count) * magnitude);
  }
};

struct ProductFold {
  Real value{1, 0};
  void take(Real x) { value = multiply(value, x, kUnitF32); }
  Real finish(int64_t, double) const { return value; }
};

/// A sum and a product in f32, one element after the other.
struct SingleSumFold {
  float value = 0;
  void take(Real x) { value = static_cast<float>(value + x.value); }
  Real finish(int64_t, double) const { return {value, 0}; }
};
struct SingleProductFold {
  float value = 1;
  void take(Real x) { value = static_cast<float>(value * x.value); }
  Real finish(int64_t, double) const { return {value, 0}; }
};

/// The maximum, and the range in which the maximum of inexact elements lies.
struct MaxFold {
  double value = -kUnknown, lo = -kUnknown, hi = -kUnknown;
  bool sawNaN = false;

  void take(Real x) {
    sawNaN |= std::isnan(x.value);
    value = std::max(value, x.value);
    lo = std::max(lo, low(x));
    hi = std::max(hi, high(x));
  }
  Real finish(int64_t, double) const {
    if (sawNaN)
      return {std::numeric_limits<double>::quiet_NaN(), 0};
    return between(value, lo, hi, 0);
  }
};

struct MinFold {
  MaxFold ofNegated;
  void take(Real x) { ofNegated.take(negate(x)); }
  Real finish(int64_t count, double unit) const { return negate(ofNegated.finish(count, unit)); }
};

/// Whether another element reaches the largest one. A NaN leaves nothing to contest.
struct ContestFold {
  Real largest{-kUnknown, 0};
  double others = -kUnknown;
  bool some = false;

  void take(Real x) {
    if (!some || x.value > largest.value)
      std::swap(x, largest);
    if (some)
      others = std::max(others, high(x));
    some = true;
  }
  Whole finish(int64_t, double) const { return {others >= low(largest), 0}; }
};

struct ContestOfLeast {
  ContestFold ofNegated;
  void take(Real x) { ofNegated.take(negate(x)); }
  Whole finish(int64_t count, double unit) const { return ofNegated.finish(count, unit); }
};

/// A fold of integers or booleans by a binary rule.
template <Whole (*combine)(Whole, Whole), int64_t identity> struct WholeFold {
  Whole value{identity, 0};
  void take(Whole x) { value = combine(value, x); }
  Whole finish(int64_t, double) const { return value; }
};

Whole larger(Whole x, Whole y) { return {std::max(x.value, y.value), std::max(x.error, y.error)}; }
Whole smaller(Whole x, Whole y) { return {std::min(x.value, y.value), std::max(x.error, y.error)}; }

template <class Fold> constexpr bool foldsReals = requires(Fold fold) { fold.take(Real{}); };
template <class Fold> constexpr bool foldsTerms = requires(Fold fold) { fold.take(Real{}, 0.0); };

/// `gross` is null if gross magnitudes are those of the values.
template <class Fold>
void takeElement(Fold &fold, const Register &registers, const Register *gross, int64_t i) {
  if constexpr (foldsTerms<Fold>)
    fold.take(registers.real(i), gross ? gross->value[i] : std::fabs(registers.value[i]));
  else if constexpr (foldsReals<Fold>)
    fold.take(registers.real(i));
  else
    fold.take(registers.whole(i));
}

void put(const Tensor &tensor, int64_t i, Real x) {
  tensor.storage->value[i] = x.value;
  tensor.storage->error[i] = x.error;
}
void put(const Tensor &tensor, int64_t i, Whole x) {
  tensor.storage->integer[i] = x.value;
  tensor.storage->error[i] = x.error;
}

/// Results in parallel; the elements of one result are consecutive in the walk.
template <class Fold>
void foldAll(Workplace work, const ScalarProgram &program, int64_t count, const Tensor &result,
             double unit) {
  if (count == 0) {
    for (int64_t i = 0; i < result.size(); ++i)
      put(result, i, Fold().finish(0, unit));
    return;
  }
  int64_t grain = std::max<int64_t>(1, 4 * kChunk / count);
  parallelFor(result.size(), grain, work.threads, [&](int64_t begin, int64_t end) {
    std::vector<Register> registers = program.makeRegisters();
    Fold fold;
    int64_t current = begin, taken = 0;
    for (int64_t start = begin * count; start < end * count; start += kChunk) {
      int64_t n = std::min(kChunk, end * count - start);
      const Register &elements = program.run(registers, start, n);
      const Register *gross = program.gross(registers);
      for (int64_t i = 0; i < n; ++i) {
        takeElement(fold, elements, gross, i);
        if (++taken < count)
          continue;
        put(result, current++, fold.finish(count, unit));
        fold = Fold();
        taken = 0;
      }
    }
  });
}

using FoldAll = void (*)(Workplace, const ScalarProgram &, int64_t, const Tensor &, double);

/// `single`: sums and products of floats are f32.
FoldAll foldOf(attn::ReduceKind kind, ElementKind element, bool single) {
  using K = attn::ReduceKind;
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  constexpr int64_t greatest = std::numeric_limits<int64_t>::max();
  bool real = element == ElementKind::Real;
  if (single && real && (kind == K::Add || kind == K::Mul))
    return kind == K::Add ? foldAll<SingleSumFold> : foldAll<SingleProductFold>;
  switch (kind) {
  case K::Add:
    return real ? foldAll<SumFold> : foldAll<WholeFold<add, 0>>;
  case K::Mul:
    return real ? foldAll<ProductFold> : foldAll<WholeFold<multiply, 1>>;
  case K::Max:
    return real ? foldAll<MaxFold> : foldAll<WholeFold<larger, least>>;
  case K::Min:
    return real ? foldAll<MinFold> : foldAll<WholeFold<smaller, greatest>>;
  case K::And:
    return foldAll<WholeFold<conjunction, 1>>;
  case K::Or:
    return foldAll<WholeFold<disjunction, 0>>;
  default:
    return nullptr;
  }
}

Space joined(const Space &kept, const Space &reduced) {
  Space all = kept;
  llvm::append_range(all.dims, reduced.dims);
  llvm::append_range(all.shape, reduced.shape);
  return all;
}

/// One row of a softmax: maximum, exp(x - maximum) and their sum.
struct Row {
  Rounding round;
  Real maximum, sum;
  std::vector<Real> weights;

  void evaluate(const Tensor &array, int64_t base, ArrayRef<int64_t> offsets, double unit) {
    auto element = [&](int64_t k) {
      int64_t at = base + offsets[k];
      return Real{array.value[at], array.error ? array.error[at] : 0};
    };
    MaxFold top;
    for (size_t k = 0; k < offsets.size(); ++k)
      top.take(element(k));
    // Whatever is subtracted cancels: its error is none of the weights' nor of the logarithm's.
    maximum = {top.finish(offsets.size(), unit).value, 0};
    weights.resize(offsets.size());
    for (size_t k = 0; k < offsets.size(); ++k) {
      Real difference = round(subtractAbsorbing(element(k), maximum, unit));
      weights[k] = round(exponential(difference, unit));
    }
    sum = round.single ? total<SingleSumFold>(unit) : total<SumFold>(unit);
  }

private:
  template <class Fold> Real total(double unit) const {
    Fold fold;
    for (Real weight : weights)
      if constexpr (foldsTerms<Fold>)
        fold.take(weight, weight.value);
      else
        fold.take(weight);
    return fold.finish(weights.size(), unit);
  }
};

/// Calls `body(row, index of the row)` for every row of `array` over `kept`.
void forEachRow(Workplace work, const Tensor &array, const Space &kept, const Space &reduced,
                double unit, llvm::function_ref<void(const Row &, int64_t)> body) {
  std::vector<int64_t> rows = offsetsOf(kept.shape, stridesOver(array, kept));
  std::vector<int64_t> elements = offsetsOf(reduced.shape, stridesOver(array, reduced));
  parallelFor(rows.size(), 1, work.threads, [&](int64_t begin, int64_t end) {
    Row row{{work.emulates() && unit != kUnitF64}, {}, {}, {}};
    for (int64_t r = begin; r < end; ++r) {
      row.evaluate(array, rows[r], elements, unit);
      body(row, r);
    }
  });
}

} // namespace

Extents stridesOver(const Tensor &tensor, const Space &space) {
  Extents strides;
  for (StringAttr dim : space.dims)
    strides.push_back(tensor.strideOf(dim));
  return strides;
}

llvm::Expected<Tensor> evaluateElements(Workplace work, ScalarProgram program, const Space &space) {
  llvm::Expected<Tensor> result = makeTensor(work.memory, space.dims, space.shape, program.kind());
  if (!result)
    return result;
  program.walk(space.dims, space.shape);
  if (work.emulates())
    program.emulate();
  else if (program.hasGross())
    if (llvm::Error error = addGross(*result))
      return error;
  Storage &storage = *result->storage;
  parallelFor(space.size(), kChunk, work.threads, [&](int64_t begin, int64_t end) {
    std::vector<Register> registers = program.makeRegisters();
    for (int64_t start = begin; start < end; start += kChunk) {
      int64_t n = std::min(kChunk, end - start);
      const Register &elements = program.run(registers, start, n);
      if (program.kind() == ElementKind::Real)
        std::copy_n(elements.value.data(), n, storage.value.data() + start);
      else
        std::copy_n(elements.integer.data(), n, storage.integer.data() + start);
      std::copy_n(elements.error.data(), n, storage.error.data() + start);
      if (result->gross)
        std::copy_n(program.gross(registers)->value.data(), n, storage.gross.data() + start);
    }
  });
  dropZeroErrors(*result);
  return result;
}

llvm::Expected<Tensor> reduceElements(Workplace work, ScalarProgram program, attn::ReduceKind kind,
                                      const Space &kept, const Space &reduced, double unit) {
  FoldAll fold = foldOf(kind, program.kind(), work.emulates() && unit != kUnitF64);
  if (!fold)
    return llvm::createStringError("internal: a reduction that is sugar was not expanded");
  llvm::Expected<Tensor> result = makeTensor(work.memory, kept.dims, kept.shape, program.kind());
  if (!result)
    return result;
  Space all = joined(kept, reduced);
  program.walk(all.dims, all.shape);
  if (work.emulates())
    program.emulate();
  fold(work, program, reduced.size(), *result, unit);
  dropZeroErrors(*result);
  return result;
}

llvm::Expected<Tensor> contestedExtremum(Workplace work, ScalarProgram program, bool isMin,
                                         const Space &kept, const Space &reduced) {
  llvm::Expected<Tensor> result = makeTensor(work.memory, kept.dims, kept.shape, ElementKind::Bool);
  if (!result)
    return result;
  Space all = joined(kept, reduced);
  program.walk(all.dims, all.shape);
  FoldAll fold = isMin ? foldAll<ContestOfLeast> : foldAll<ContestFold>;
  fold(work, program, reduced.size(), *result, kUnitF64);
  dropZeroErrors(*result);
  return result;
}

llvm::Expected<Tensor> softmax(Workplace work, const Tensor &array, const Space &result,
                               const Space &kept, const Space &reduced, double unit) {
  llvm::Expected<Tensor> out =
      makeTensor(work.memory, result.dims, result.shape, ElementKind::Real);
  if (!out)
    return out;
  std::vector<int64_t> rows = offsetsOf(kept.shape, stridesOver(*out, kept));
  std::vector<int64_t> elements = offsetsOf(reduced.shape, stridesOver(*out, reduced));
  forEachRow(work, array, kept, reduced, unit, [&](const Row &row, int64_t r) {
    bool empty = row.sum.value == 0;
    for (size_t k = 0; k < elements.size(); ++k)
      put(*out, rows[r] + elements[k],
          empty ? Real{0, 0} : row.round(divide(row.weights[k], row.sum, unit)));
  });
  return out;
}

llvm::Expected<Tensor> logSumExp(Workplace work, const Tensor &array, const Space &kept,
                                 const Space &reduced, double unit) {
  llvm::Expected<Tensor> out = makeTensor(work.memory, kept.dims, kept.shape, ElementKind::Real);
  if (!out)
    return out;
  forEachRow(work, array, kept, reduced, unit, [&](const Row &row, int64_t r) {
    // An empty row has maximum -inf, which absorbs the logarithm of its sum.
    put(*out, r, row.round(add(row.maximum, row.round(logarithm(row.sum, unit)), unit)));
  });
  return out;
}

} // namespace attnc::evaluator
