// The check itself: it must fail where an implementation loses, doubles or misplaces one key.
#include "compiler/driver/execution/guarded_memory.h"
#include "tests/e2e/variant.h"

#include <cstring>
#include <numeric>

namespace attnc::e2e {
namespace {

using evaluator::Array;
using evaluator::EvalInputs;

/// The value, or the end of the test program: LLVM's cantFail checks in builds with assertions
/// only.
template <typename T> T must(llvm::Expected<T> value) {
  if (!value)
    llvm::report_fatal_error(value.takeError());
  return std::move(*value);
}

/// Planted inputs and where the planted key is.
struct Planted {
  EvalInputs inputs;
  int64_t key;
};

Planted plant(const Spec &spec, const Extents &extents) {
  auto program = driver::programOf(spec);
  constexpr uint64_t seed = 1; // the one that the tests of the variants use
  return {must(evaluator::makeInputs(program, extents, seed, evaluator::InputKind::Planted)),
          must(evaluator::plantedIndices(program, extents, seed)).at("j")};
}

/// `array` with the slices `order` of axis `axis`, which may repeat or leave out some.
Array takeSlices(const Array &array, size_t axis, const std::vector<int64_t> &order) {
  int64_t inner = 1, outer = 1;
  for (size_t a = 0; a < array.shape.size(); ++a)
    (a < axis ? outer : a > axis ? inner : outer) *= a == axis ? 1 : array.shape[a];
  Array result = array;
  result.shape[axis] = order.size();
  result.value.clear();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t slice : order) {
      auto first = array.value.begin() + (o * array.shape[axis] + slice) * inner;
      result.value.insert(result.value.end(), first, first + inner);
    }
  return result;
}

/// Takes slices of dim `dim` of the inputs named, or of all that carry it.
EvalInputs takeKeys(const EvalInputs &inputs, const std::vector<int64_t> &order,
                    const std::string &only = "") {
  EvalInputs result = inputs;
  result.extents.clear();
  for (auto &[name, array] : result.tensors) {
    auto dim = llvm::find(array.dims, "j");
    if (dim != array.dims.end() && (only.empty() || only == name))
      array = takeSlices(array, dim - array.dims.begin(), order);
  }
  return result;
}

/// What a perfect implementation stores for these inputs.
std::map<std::string, driver::HostTensor> storedOutputs(const Spec &spec,
                                                        const EvalInputs &inputs) {
  auto program = driver::programOf(spec);
  auto outputs = must(evaluator::evaluate(program, inputs));
  std::map<std::string, driver::HostTensor> stored;
  for (auto output : program.getBodyBlock()->getOps<attn::OutputOp>()) {
    std::string name = output.getName().str();
    DType dtype = output.getType().isBF16() ? DType::BF16 : DType::F32;
    stored[name] = driver::toHostTensor(outputs.at(name), dtype);
  }
  return stored;
}

bool passes(const Spec &spec, const EvalInputs &truth, const EvalInputs &computed) {
  auto report = driver::checkOutputs(spec, truth, storedOutputs(spec, computed), "planted");
  EXPECT_TRUE(report.ok()) << report.error().text();
  return report.ok() && report->ok();
}

std::vector<int64_t> allKeys(int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

class WrongKeys : public testing::TestWithParam<int64_t> {};

// Specs in which a key's index does not enter: leaving one out is then the same as another key
// less.
TEST_P(WrongKeys, oneKeyLessOrTwiceFails) {
  int64_t keys = GetParam();
  for (const char *name : {"full", "gqa", "softcap", "lse", "cross"}) {
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    auto [inputs, key] = plant(*spec, spec.extents({65, keys}));
    std::vector<int64_t> dropped = allKeys(keys), doubled = allKeys(keys);
    dropped.erase(dropped.begin() + key);
    doubled.push_back(key);
    EXPECT_TRUE(passes(*spec, inputs, inputs)) << name;
    EXPECT_FALSE(passes(*spec, inputs, takeKeys(inputs, dropped))) << name << ", dropped";
    EXPECT_FALSE(passes(*spec, inputs, takeKeys(inputs, doubled))) << name << ", doubled";
  }
}

/// Whether the values have an axis of keys: those of paged and packed sequences have others.
bool hasValuesOfKeys(const Spec &spec) {
  for (auto input : driver::programOf(spec).getBodyBlock()->getOps<attn::InputOp>())
    if (input.getName() == "v")
      return llvm::any_of(input.getType().getDims(),
                          [](mlir::StringAttr dim) { return dim == "j"; });
  return false;
}

// A value that is read one row too far.
TEST_P(WrongKeys, aMisplacedValueFails) {
  int64_t keys = GetParam();
  for (const std::string &name : specNames()) {
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    if (!hasValuesOfKeys(*spec) || name == "varlen") // the key may lie beyond its length
      continue;
    auto [inputs, key] = plant(*spec, spec.extents({keys, keys}));
    std::vector<int64_t> order = allKeys(keys);
    std::swap(order[key], order[(key + 1) % keys]);
    EXPECT_FALSE(passes(*spec, inputs, takeKeys(inputs, order, "v"))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, WrongKeys, testing::Values(17, 64, 129, 300));

/// Makes the reference of 1000 queries and 17 keys be computed at some queries, all else whole.
constexpr double fewElements = 1 << 19;

TEST(Check, failsWhereAnElementWasNeverWritten) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  auto [inputs, key] = plant(*spec, spec.extents({1000, 17}));
  auto outputs = storedOutputs(*spec, inputs);
  // Row 7 is not among the rows at which the reference is computed.
  std::byte *row = outputs.at("o").data.data() + 7 * 64 * dtypeSize(DType::BF16);
  row[0] = row[1] = std::byte{driver::poisonByte};
  auto program = driver::programOf(*spec);
  auto extents = must(evaluator::bindExtents(program, inputs));
  auto samples = driver::chooseSamples(program, extents, fewElements);
  ASSERT_FALSE(llvm::is_contained(samples.at("i"), 7));
  auto report = driver::checkOutputs(*spec, inputs, outputs, "planted", fewElements);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_FALSE(report->ok());
  EXPECT_EQ(report->worst()->unwritten, 1);
}

TEST(Check, samplesQueriesUnlessAResultIsASumOverThem) {
  double most = driver::CheckRequest().maxElements;
  for (auto [name, length, expected] : {std::tuple("causal", 16384, true),
                                        {"column_sums", 16384, false},
                                        {"column_sums", 1024, true}}) {
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    Extents extents = spec.extents({length, length});
    extents["h"] = 1;
    EXPECT_EQ(driver::canSample(driver::programOf(*spec), extents, most), expected)
        << name << " " << length;
  }
}

TEST(Check, namesTheElementInASample) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  auto [inputs, key] = plant(*spec, spec.extents({1000, 17}));
  auto outputs = storedOutputs(*spec, inputs);
  // The last row of the first head is always in the sample.
  uint16_t wrong = floatToBFloat(100);
  std::memcpy(outputs.at("o").data.data() + (999 * 64 + 5) * sizeof(wrong), &wrong, sizeof(wrong));
  auto report = driver::checkOutputs(*spec, inputs, outputs, "planted", fewElements);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_FALSE(report->ok());
  EXPECT_EQ(report->worst()->place, "b=0, h=0, i=999, e=5");
  EXPECT_EQ(report->worst()->actual, 100);
}

TEST(GuardedMemory, findsAWriteOnEitherSide) {
  for (int64_t offset : {-1, 100}) {
    auto memory = driver::GuardedHostMemory::allocate("o", 100);
    ASSERT_TRUE(memory.ok());
    EXPECT_TRUE(memory->checkGuards().ok());
    memory->data()[0] = memory->data()[99] = std::byte{0};
    EXPECT_TRUE(memory->checkGuards().ok());
    memory->data()[offset] = std::byte{0};
    Status intact = memory->checkGuards();
    ASSERT_FALSE(intact.ok());
    EXPECT_EQ(intact.error().kind, ErrorKind::Internal);
    EXPECT_NE(intact.error().message.find("'o'"), std::string::npos);
  }
}

} // namespace
} // namespace attnc::e2e
