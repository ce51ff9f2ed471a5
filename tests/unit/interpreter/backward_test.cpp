// The backward of attention by hand: a kernel that sums derivatives of queries over blocks by bulk
// additions, in the order of lanes, and one that takes them back to rows.
#include "mlir/IR/Verifier.h"
#include "tests/unit/interpreter/attention_kernel.h"
#include <cmath>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace attnc::interpreter {
namespace {

constexpr uint64_t kOrders = 8;
// Four tiles of 64 queries, so that all rings wrap around, and three blocks of 128 keys, whose sums
// depend on their order; the last ones are partial.
constexpr int64_t kHeads = 2, kQueries = 200, kKeys = 300, kWidth = 128;
constexpr int64_t kQueryTiles = (kQueries + 63) / 64, kKeyTiles = (kKeys + 127) / 128;
constexpr int64_t kPaddedQueries = 64 * kQueryTiles;
constexpr uint16_t kPoison = 0xFFFF;
const double kScale = 1 / std::sqrt(double(kWidth));

/// A derivative in float64, and how far bf16 weights and results may lead away from it.
struct Derivative {
  std::vector<double> values, bounds;

  explicit Derivative(int64_t rows) : values(rows * kWidth), bounds(rows * kWidth) {}
  /// Adds a row, times a weight that is known up to `error`.
  void add(int64_t row, double weight, double error, const double *from) {
    for (int64_t d = 0; d < kWidth; ++d) {
      values[row * kWidth + d] += weight * from[d];
      bounds[row * kWidth + d] += error * std::abs(from[d]);
    }
  }
  /// Empty if all elements are within their bounds and the rounding of the result.
  std::string compare(const char *name, const std::vector<uint16_t> &found) const {
    for (size_t i = 0; i < values.size(); ++i) {
      double element = bfloatToFloat(found[i]);
      if (found[i] == kPoison || !(std::abs(element - values[i]) <=
                                   bounds[i] + 0x1p-9 * (std::abs(values[i]) + bounds[i])))
        return fmt::format("the result is wrong: element {} of {} is {}, not {}", i, name, element,
                           values[i]);
    }
    return "";
  }
};

std::vector<double> widened(const std::vector<uint16_t> &tensor) {
  std::vector<double> result;
  for (uint16_t element : tensor)
    result.push_back(bfloatToFloat(element));
  return result;
}

/// Inputs, what the forward has left, and the derivatives.
struct Problem {
  std::vector<uint16_t> q = randomElements(DType::BF16, kHeads * kQueries * kWidth, 1);
  std::vector<uint16_t> k = randomElements(DType::BF16, kHeads * kKeys * kWidth, 2);
  std::vector<uint16_t> v = randomElements(DType::BF16, kHeads * kKeys * kWidth, 3);
  std::vector<uint16_t> dOut = randomElements(DType::BF16, kHeads * kQueries * kWidth, 4);
  std::vector<float> lse = std::vector<float>(kHeads * kPaddedQueries);
  std::vector<float> delta = std::vector<float>(kHeads * kPaddedQueries);
  Derivative dq{kHeads * kQueries}, dk{kHeads * kKeys}, dv{kHeads * kKeys};

  Problem() {
    std::vector<double> wideQ = widened(q), wideK = widened(k), wideV = widened(v);
    std::vector<double> wideOut = widened(dOut);
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < kQueries; ++i)
        addQuery(h, i, &wideQ[(h * kQueries + i) * kWidth], &wideOut[(h * kQueries + i) * kWidth],
                 &wideK[h * kKeys * kWidth], &wideV[h * kKeys * kWidth]);
  }

  // A weight loses 2^-9 of itself; its derivative that and 2^-9 again, and what sums of kWidth
  // products in f32 lose, 2^-24 with each.
  void addQuery(int64_t h, int64_t i, const double *qRow, const double *outRow, const double *keys,
                const double *values) {
    std::vector<double> weights(kKeys), slopes(kKeys), products(kKeys);
    double sum = 0, mean = 0;
    for (int64_t j = 0; j < kKeys; ++j) {
      double score = 0;
      for (int64_t d = 0; d < kWidth; ++d) {
        score += qRow[d] * keys[j * kWidth + d];
        slopes[j] += outRow[d] * values[j * kWidth + d];
        products[j] += std::abs(outRow[d] * values[j * kWidth + d]);
      }
      sum += weights[j] = std::exp(score * kScale);
    }
    for (int64_t j = 0; j < kKeys; ++j)
      mean += (weights[j] /= sum) * slopes[j];
    lse[h * kPaddedQueries + i] = float(std::log2(sum));
    delta[h * kPaddedQueries + i] = float(mean);
    for (int64_t j = 0; j < kKeys; ++j) {
      double ds = weights[j] * (slopes[j] - mean) * kScale;
      double error = 0x1.1p-8 * std::abs(ds) + kWidth * 0x1p-24 * weights[j] * products[j] * kScale;
      dv.add(h * kKeys + j, weights[j], 0x1.1p-9 * weights[j], outRow);
      dk.add(h * kKeys + j, ds, error, qRow);
      dq.add(h * kQueries + i, ds, error, keys + j * kWidth);
    }
  }
};

const Problem &problem() {
  static const Problem once;
  return once;
}

template <class T>
GlobalRange range(const char *name, const std::vector<T> &tensor, bool writable) {
  auto *data = reinterpret_cast<std::byte *>(const_cast<T *>(tensor.data()));
  return {name, data, tensor.size() * sizeof(T), writable};
}
template <class T> ArgValue pointer(const std::vector<T> &tensor) {
  return static_cast<void *>(const_cast<T *>(tensor.data()));
}
TensorMapArg mapOf(const std::vector<uint16_t> &tensor, int64_t rows, int64_t boxRows) {
  int64_t row = 2 * kWidth;
  return {const_cast<uint16_t *>(tensor.data()),  DType::BF16,         {kWidth, rows, kHeads, 1},
          {row, row * rows, row * rows * kHeads}, {64, boxRows, 1, 1}, 128};
}

class Backward : public testing::Test {
protected:
  Backward() : module(parseKernelFile(context, "backward.mlir", text)) {}

  template <class Op> std::vector<Op> all() {
    std::vector<Op> list;
    module->walk([&](Op op) { list.push_back(op); });
    return list;
  }

  std::string runKernel(unsigned number, const Launch &launch, uint64_t seed) {
    tile::KernelOp kernel = all<tile::KernelOp>()[number];
    EXPECT_TRUE(succeeded(verify(kernel)));
    auto compiled = KernelInterpreter::compile(kernel, text);
    if (!compiled)
      return llvm::toString(compiled.takeError());
    llvm::Error fault = compiled->run(launch, seed);
    return fault ? llvm::toString(std::move(fault)) : "";
  }

  /// Both kernels in one order: empty, or the first fault, or what is wrong with the results.
  std::string run(uint64_t seed) {
    const Problem &p = problem();
    std::vector<float> sums(kHeads * kPaddedQueries * kWidth);
    std::vector<uint16_t> dk(p.k.size(), kPoison), dv = dk, dq(p.q.size(), kPoison);
    Launch keys;
    keys.blocks = kHeads * kKeyTiles;
    keys.args = {mapOf(p.q, kQueries, 64),
                 mapOf(p.k, kKeys, 128),
                 mapOf(p.v, kKeys, 128),
                 mapOf(p.dOut, kQueries, 64),
                 pointer(p.lse),
                 pointer(p.delta),
                 pointer(sums),
                 pointer(dk),
                 pointer(dv),
                 kHeads * kKeys * kWidth,
                 kKeys * kWidth,
                 kWidth,
                 kPaddedQueries,
                 int32_t(kHeads),
                 int32_t(kQueries),
                 int32_t(kKeys),
                 float(kScale)};
    keys.memory = {
        range("q", p.q, false),       range("k", p.k, false),     range("v", p.v, false),
        range("do", p.dOut, false),   range("lse", p.lse, false), range("delta", p.delta, false),
        range("dq_sums", sums, true), range("dk", dk, true),      range("dv", dv, true)};
    if (std::string fault = runKernel(0, keys, seed); !fault.empty())
      return fault;

    Launch queries;
    queries.blocks = kHeads * kQueryTiles;
    queries.args = {pointer(sums), pointer(dq),     kHeads * kQueries * kWidth, kQueries * kWidth,
                    kWidth,        int32_t(kHeads), int32_t(kQueries),          float(kScale)};
    queries.memory = {range("dq_sums", sums, false), range("dq", dq, true)};
    if (std::string fault = runKernel(1, queries, seed); !fault.empty())
      return fault;
    for (std::string wrong :
         {p.dv.compare("dv", dv), p.dk.compare("dk", dk), p.dq.compare("dq", dq)})
      if (!wrong.empty())
        return wrong;
    return "";
  }

  std::vector<std::string> runAll() {
    std::vector<std::string> faults;
    for (uint64_t seed = 0; seed < kOrders; ++seed)
      if (std::string fault = run(seed); !fault.empty())
        faults.push_back(fault);
    return faults;
  }
  template <class Matcher> void expectAlways(Matcher why) {
    EXPECT_THAT(runAll(), AllOf(SizeIs(kOrders), Each(why)));
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string text;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Backward, isCorrectInAnyOrder) { EXPECT_THAT(runAll(), IsEmpty()); }

TEST_F(Backward, sumsOverwrittenWhileTheyAreAdded) {
  all<tile::StoreWaitOp>().front().erase();
  expectAlways(AllOf(HasSubstr("`tile.store_lanes %dq to %staging_low"),
                     HasSubstr("a store that this warp does not know to be complete")));
}

TEST_F(Backward, sumsThatAreNotPublished) {
  all<tile::PublishOp>().back().erase();
  expectAlways(HasSubstr("with no tile.publish since it was written by `tile.store_lanes"));
}

TEST_F(Backward, sumsThatTheBlockDoesNotWaitFor) {
  all<tile::StoreWaitOp>().back().erase();
  expectAlways(
      AllOf(HasSubstr("`tile.add_bulk"), HasSubstr("is not waited for (tile.store_wait)")));
}

TEST_F(Backward, vectorThatIsNotAwaited) {
  for (auto await : all<tile::AwaitOp>())
    if (await->getParentOfType<scf::ForOp>() && !await.getPipe().getType().getTile().hasPanels()) {
      await.erase(); // of lse in the loop
      break;
    }
  expectAlways(AllOf(HasSubstr("`tile.read_vector %lse_columns"),
                     AnyOf(HasSubstr("a copy that this warp does not know to be complete"),
                           HasSubstr("that nothing has written"))));
}

TEST_F(Backward, vectorOutsideTheTensor) {
  auto fill = all<tile::FillRowOp>().front();
  fill.getOffsetMutable().assign(
      fill->getParentOfType<tile::KernelOp>().getBodyBlock()->getArgument(9));
  expectAlways(AllOf(HasSubstr("`tile.fill_row %lse_pipe"), HasSubstr("of 'lse', which has 2048")));
}

TEST_F(Backward, sumsOfOneHalfInTheOthersPlace) {
  auto restore = all<tile::RestoreOp>();
  restore[1].getOffsetMutable().assign(restore[0].getOffset());
  expectAlways(AllOf(HasSubstr("the result is wrong"), HasSubstr("of dq")));
}

} // namespace
} // namespace attnc::interpreter
