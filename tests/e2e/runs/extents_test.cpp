// Dims at the edges of what an extent can be: 0, and lengths and offsets that come from tensors and
// are wrong.
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

namespace attnc::e2e {
namespace {

Result<std::unique_ptr<driver::Executor>> executorFor(const Spec &spec, const std::string &target) {
  if (target == "cpu")
    return makeExecutor(spec);
  driver::CompileOptions options;
  options.target = target;
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(spec, options);
  if (!compilation)
    return compilation.error();
  return driver::makeInterpreterExecutor(*compilation);
}

//===----------------------------------------------------------------------===//
// Extent 0
//===----------------------------------------------------------------------===//

class EmptyDims : public testing::TestWithParam<std::string> {};

// A dim is refused at 0 by name, or every output is right: empty, or that of empty rows.
TEST_P(EmptyDims, areRightOrRefused) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = executorFor(*spec, "cpu");
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  Extents reference = spec.extents({3, 5});
  for (const auto &[dim, extent] : reference) {
    Extents extents = reference;
    extents[dim] = 0;
    SCOPED_TRACE(dim);
    driver::CheckRequest request;
    request.extents = extents;
    auto report = driver::checkProgram(*spec, **executor, request);
    if (report.ok()) {
      EXPECT_TRUE(report->ok()) << report->worst()->why();
      continue;
    }
    // What is divided by, or counted down from, cannot be 0.
    EXPECT_EQ(report.error().kind, ErrorKind::InvalidArgument);
    EXPECT_THAT(report.error().message,
                testing::AnyOf(testing::HasSubstr("'" + dim + "' is 0, but must be at least 1"),
                               testing::HasSubstr("dim " + dim + " is 0, but must be at least 1"),
                               testing::HasSubstr("divides by zero"),
                               testing::HasSubstr("which is negative"),
                               testing::HasSubstr("requirement does not hold: size(" + dim)));
  }
}

INSTANTIATE_TEST_SUITE_P(Library, EmptyDims, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Further, EmptyDims, testing::ValuesIn(furtherSpecNames()),
                         [](const auto &info) { return info.param; });

TEST(EmptyDimsOfKernels, areRight) {
  for (const char *name : {"full", "causal", "lse", "varlen", "bias", "relative_bias", "documents",
                           "column_sums", "temperature", "normed"})
    for (const char *target : {"sm_80", "sm_90a"}) {
      LoadedSpec spec(name);
      ASSERT_TRUE(spec);
      auto executor = executorFor(*spec, target);
      ASSERT_TRUE(executor.ok()) << executor.error().text();
      for (const char *dim : {"b", "i", "j"}) {
        SCOPED_TRACE(std::string(name) + " for " + target + ", " + dim + "=0");
        Extents extents = spec.extents({20, 5});
        extents[dim] = 0;
        expectCorrect(*spec, **executor, extents);
      }
    }
}

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

driver::HostTensor tensorOf(DType dtype, std::vector<int64_t> shape, const void *data) {
  driver::HostTensor tensor{dtype, std::move(shape), {}};
  size_t count = 1;
  for (int64_t extent : tensor.shape)
    count *= extent;
  tensor.data.resize(count * dtypeSize(dtype));
  std::memcpy(tensor.data.data(), data, tensor.data.size());
  return tensor;
}

std::vector<float> floatsOf(const driver::HostTensor &tensor) {
  std::vector<float> values(tensor.elements());
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

constexpr int64_t kHeads = 2, kQueries = 3, kKeys = 21, kDepth = 64;

/// Attention of one row of queries to the first `keys` keys, in double precision.
std::vector<double> attention(const float *q, const float *k, const float *v, int64_t keys) {
  std::vector<double> out(kDepth, 0), scores(keys);
  double top = -INFINITY, total = 0;
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t d = 0; d < kDepth; ++d)
      scores[j] += double(q[d]) * k[j * kDepth + d];
    scores[j] /= 8;
    top = std::max(top, scores[j]);
  }
  for (double &score : scores)
    total += score = std::exp(score - top);
  for (int64_t j = 0; j < keys; ++j)
    for (int64_t e = 0; e < kDepth; ++e)
      out[e] += scores[j] / total * v[j * kDepth + e];
  return out;
}

class KeyLengths : public testing::TestWithParam<const char *> {};

// What is beyond a length holds NaN and infinity here; lengths below 0 and beyond the tensor count
// as the nearer end.
TEST_P(KeyLengths, boundWhatIsRead) {
  LoadedSpec spec("varlen", {{"T", "f32"}});
  ASSERT_TRUE(spec);
  auto executor = executorFor(*spec, GetParam());
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  std::vector<int32_t> given = {0, kKeys, 17, -3, kKeys + 9, INT32_MIN, INT32_MAX};
  int64_t batches = given.size();
  std::vector<float> q(batches * kHeads * kQueries * kDepth), k(batches * kHeads * kKeys * kDepth);
  for (size_t at = 0; at < q.size(); ++at)
    q[at] = float(int64_t(at * 37 % 101) - 50) / 40;
  for (size_t at = 0; at < k.size(); ++at)
    k[at] = float(int64_t(at * 53 % 89) - 44) / 40;
  std::vector<float> v(k.rbegin(), k.rend());
  auto lengthOf = [&](int64_t b) { return std::clamp<int64_t>(given[b], 0, kKeys); };
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t at = lengthOf(b) * kDepth; at < kKeys * kDepth; ++at) {
        k[(b * kHeads + h) * kKeys * kDepth + at] = NAN;
        v[(b * kHeads + h) * kKeys * kDepth + at] = INFINITY;
      }
  driver::RunRequest request;
  request.inputs["q"] = tensorOf(DType::F32, {batches, kHeads, kQueries, kDepth}, q.data());
  request.inputs["k"] = tensorOf(DType::F32, {batches, kHeads, kKeys, kDepth}, k.data());
  request.inputs["v"] = tensorOf(DType::F32, {batches, kHeads, kKeys, kDepth}, v.data());
  request.inputs["len"] = tensorOf(DType::I32, {batches}, given.data());
  Result<driver::RunResult> ran = (*executor)->run(request);
  ASSERT_TRUE(ran.ok()) << ran.error().text();
  std::vector<float> o = floatsOf(ran->outputs.at("o"));
  for (int64_t row = 0; row < batches * kHeads * kQueries; ++row) {
    int64_t head = row / kQueries, b = head / kHeads;
    std::vector<double> expected = attention(&q[row * kDepth], &k[head * kKeys * kDepth],
                                             &v[head * kKeys * kDepth], lengthOf(b));
    for (int64_t e = 0; e < kDepth; ++e)
      // Sums of 64 products and of 21 weights, each below 2 in magnitude, in f32.
      ASSERT_NEAR(o[row * kDepth + e], expected[e], 1e-5) << "b=" << b << " row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, KeyLengths, testing::Values("cpu", "sm_80", "sm_90a"),
                         [](const auto &info) { return std::string(info.param); });

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

class Offsets : public testing::TestWithParam<std::vector<int32_t>> {};

// One head, q = k = v = 1: every row of a sequence is 1, and what belongs to none is 0. Guard zones
// would show a row that leaves the tensor as NaN.
TEST_P(Offsets, neverLeaveTheTensor) {
  LoadedSpec spec("ragged", {{"T", "f32"}});
  ASSERT_TRUE(spec);
  auto executor = executorFor(*spec, "cpu");
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  std::vector<int32_t> cu = GetParam();
  constexpr int64_t rows = 20;
  std::vector<float> ones(rows * kDepth, 1.0f);
  driver::RunRequest request;
  for (const char *name : {"q", "k", "v"})
    request.inputs[name] = tensorOf(DType::F32, {rows, 1, kDepth}, ones.data());
  request.inputs["cu"] = tensorOf(DType::I32, {int64_t(cu.size())}, cu.data());
  Result<driver::RunResult> ran = (*executor)->run(request);
  ASSERT_TRUE(ran.ok()) << ran.error().text();
  std::vector<float> o = floatsOf(ran->outputs.at("o"));
  for (int64_t row = 0; row < rows; ++row) {
    int64_t begin = -1; // of the last sequence that the row lies in
    for (size_t b = 0; b + 1 < cu.size(); ++b) {
      int64_t length = std::clamp<int64_t>(int64_t(cu[b + 1]) - cu[b], 0, rows);
      if (row >= cu[b] && row < cu[b] + length)
        begin = cu[b];
    }
    for (int64_t e = 0; e < kDepth; ++e)
      ASSERT_NEAR(o[row * kDepth + e], begin >= 0 ? 1 : 0, 1e-5) << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(Wild, Offsets,
                         testing::Values(std::vector<int32_t>{0, 7, 7, 20},
                                         std::vector<int32_t>{0, 15, 9, 20},
                                         std::vector<int32_t>{0, 7, 99},
                                         std::vector<int32_t>{INT32_MAX, INT32_MIN, 3, 9}));

} // namespace
} // namespace attnc::e2e
