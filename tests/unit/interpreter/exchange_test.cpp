// Blocks that work together: a split fold whose last block merges, and a cluster.
#include "tests/unit/interpreter/attention_kernel.h"
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

TEST(SplitFold, isCorrectInAnyOrder) {
  AttentionKernel kernel(AttentionCase::splitFold());
  EXPECT_THAT(kernel.runAll(kOrders), IsEmpty());
}

TEST(SplitFold, stateThatIsNotSaved) {
  AttentionKernel kernel(AttentionCase::splitFold());
  kernel.op<tile::SaveOp>(1).erase(); // the maxima
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders), Each(HasSubstr("the result is wrong"))));
}

/// What is read before the copy into it is known to be complete, or has been started.
const auto kNotArrived = AnyOf(HasSubstr("a copy that this warp does not know to be complete"),
                               HasSubstr("that nothing has written"));

/// Scores of 64 queries and keys over 256 columns, less the rows' maxima, by two blocks.
class Cluster : public testing::Test {
protected:
  static constexpr int64_t kRows = 64, kWidth = 256;

  Cluster()
      : module(parseKernelFile(context, "cluster.mlir", text)),
        q(randomElements(DType::BF16, kRows * kWidth, 1)),
        k(randomElements(DType::BF16, kRows * kWidth, 2)) {}

  template <class Op> Op op(unsigned index) {
    std::vector<Op> list;
    module->walk([&](Op op) { list.push_back(op); });
    return list.at(index);
  }

  TensorMapArg mapOf(std::vector<uint16_t> &tensor, int64_t width) {
    return {tensor.data(),
            DType::BF16,
            {width, kRows, 1, 1},
            {2 * width, 2 * width * kRows, 2 * width * kRows},
            {64, kRows, 1, 1}};
  }

  std::string run(uint64_t seed) {
    auto compiled = KernelInterpreter::compile(*module->getOps<tile::KernelOp>().begin(), text);
    if (!compiled)
      return llvm::toString(compiled.takeError());
    std::vector<uint16_t> s(kRows * kRows, 0xFFFF);
    Launch launch;
    launch.blocks = 2;
    launch.args = {mapOf(q, kWidth), mapOf(k, kWidth), mapOf(s, kRows), int32_t(1)};
    for (auto [tensor, writable] :
         {std::pair(&q, false), std::pair(&k, false), std::pair(&s, true)})
      launch.memory.push_back(
          {"tensor", reinterpret_cast<std::byte *>(tensor->data()), tensor->size() * 2, writable});
    if (llvm::Error fault = compiled->run(launch, seed))
      return llvm::toString(std::move(fault));
    return isCorrect(s) ? "" : "the result is wrong";
  }
  std::vector<std::string> runAll() {
    std::vector<std::string> faults;
    for (uint64_t seed = 0; seed < kOrders; ++seed)
      if (std::string fault = run(seed); !fault.empty())
        faults.push_back(fault);
    return faults;
  }

  // Differences of sums below 2^9 in magnitude are rounded to bf16.
  bool isCorrect(const std::vector<uint16_t> &s) const {
    for (int64_t i = 0; i < kRows; ++i) {
      std::vector<double> scores(kRows);
      for (int64_t j = 0; j < kRows; ++j)
        for (int64_t d = 0; d < kWidth; ++d)
          scores[j] += double(bfloatToFloat(q[i * kWidth + d])) * bfloatToFloat(k[j * kWidth + d]);
      double largest = *llvm::max_element(scores);
      for (int64_t j = 0; j < kRows; ++j) {
        double expected = scores[j] - largest;
        double difference = bfloatToFloat(s[i * kRows + j]) - expected;
        if (!(std::abs(difference) <= std::abs(expected) * 0x1p-8 + 1e-4))
          return false;
      }
    }
    return true;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string text;
  OwningOpRef<ModuleOp> module;
  std::vector<uint16_t> q, k;
};

TEST_F(Cluster, isCorrectInAnyOrder) { EXPECT_THAT(runAll(), IsEmpty()); }

TEST_F(Cluster, sumsThatAreNotAwaited) {
  op<tile::MbarrierWaitOp>(0).erase();
  EXPECT_THAT(runAll(), AllOf(SizeIs(kOrders), Each(kNotArrived)));
}

TEST_F(Cluster, copyOfWhatIsNotPublished) {
  op<tile::PublishOp>(0).erase();
  EXPECT_THAT(runAll(), AllOf(SizeIs(kOrders), Each(HasSubstr("with no tile.publish"))));
}

TEST_F(Cluster, fewerBytesThanExpected) {
  // The sums of two warps of four.
  op<tile::MbarrierArriveOp>(0).setBytes(8192);
  EXPECT_THAT(runAll(), AllOf(SizeIs(kOrders),
                              Each(AllOf(HasSubstr("`tile.receive_fragment"), kNotArrived))));
}

TEST_F(Cluster, blocksThatSendBeforeTheOtherHasStarted) {
  op<tile::ClusterSyncOp>(0).erase();
  // In some orders the barriers have not been started.
  EXPECT_THAT(runAll(), testing::Contains(HasSubstr("has not been started")));
}

} // namespace
} // namespace attnc::interpreter
