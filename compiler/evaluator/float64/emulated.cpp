#include "compiler/evaluator/float64/emulated.h"
#include "runtime/program/dtype.h"

using namespace mlir;

namespace attnc::evaluator {

double roundedTo(double unit, double x) {
  if (unit == kUnitF64)
    return x;
  float single = static_cast<float>(x);
  if (unit == kUnitF16)
    return halfToFloat(floatToHalf(single));
  return unit == kUnitBF16 ? bfloatToFloat(floatToBFloat(single)) : single;
}

void roundAll(std::vector<double> &values, int64_t count, double unit) {
  if (unit == kUnitF64)
    return;
  if (unit != kUnitF16 && unit != kUnitBF16) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(values[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    values[i] = roundedTo(unit, values[i]);
}

Instruction roundingRule(double unit) {
  Instruction rule;
  rule.unit = unit;
  rule.run = [](const Instruction &op, std::vector<Register> &registers, int64_t count) {
    const Register &x = registers[op.operands[0]];
    for (int64_t i = 0; i < count; ++i)
      registers[op.result].set(i, Real{roundedTo(op.unit, x.value[i]), 0});
  };
  return rule;
}

namespace {

std::vector<int64_t> offsetsIn(const Tensor &tensor, const Space &space) {
  Extents strides;
  for (StringAttr dim : space.dims)
    strides.push_back(tensor.strideOf(dim));
  return offsetsOf(space.shape, strides);
}

} // namespace

void emulatedContraction(Workplace work, const Tensor &a, const Tensor &b, const Space &kept,
                         const Space &reduced, double unit, Tensor &result) {
  std::vector<int64_t> baseA = offsetsIn(a, kept), baseB = offsetsIn(b, kept);
  std::vector<int64_t> stepA = offsetsIn(a, reduced), stepB = offsetsIn(b, reduced);
  std::vector<double> &out = result.storage->value;
  auto sum = [&]<class T>(T total, int64_t at) -> double {
    for (size_t k = 0; k < stepA.size(); ++k)
      total = static_cast<T>(total + a.value[baseA[at] + stepA[k]] * b.value[baseB[at] + stepB[k]]);
    return total;
  };
  parallelFor(result.size(), 1, work.threads, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at)
      out[at] = unit == kUnitF64 ? sum(double(0), at) : sum(float(0), at);
  });
  dropZeroErrors(result);
}

} // namespace attnc::evaluator
