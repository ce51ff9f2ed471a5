// Two groups that exchange weights through shared memory: what only such a kernel can get wrong.
#include "tests/unit/interpreter/attention_kernel.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace attnc::interpreter {
namespace {

constexpr uint64_t kOrders = 8;

class Seesaw : public PlantedFault {
protected:
  Seesaw() : PlantedFault(AttentionCase::seesaw(), kOrders) {}
};

TEST_F(Seesaw, isCorrectInAnyOrder) { EXPECT_THAT(kernel.runAll(kOrders), IsEmpty()); }

TEST_F(Seesaw, weightsThatAreNotPublished) {
  // That of the loop: the first tile is rescaled, and published again by that; later ones are not.
  kernel.op<tile::PublishOp>(2).erase();
  expectAlways("with no tile.publish since it was written by `tile.store_operand");
}

// The await of the other group's weights in the loop; the first await is of queries, and four of
// keys follow.
tile::AwaitOp awaitOfWeights(AttentionKernel &kernel) {
  for (auto await : kernel.all<tile::AwaitOp>())
    if (await.getPipe().getDefiningOp<tile::ChooseOp>() &&
        await.getPipe().getType().getStages() == 1)
      return await;
  return {};
}

/// What another group's warps may not have written yet.
const auto kNotCompleted = AnyOf(HasSubstr("with no barrier or release between the two"),
                                 HasSubstr("that nothing has written"));

// The maxima of the same step, which the await also waits for, are read first.
TEST_F(Seesaw, maximaUsedBeforeTheyAreComplete) {
  awaitOfWeights(kernel).erase();
  EXPECT_THAT(
      kernel.runAll(kOrders),
      AllOf(SizeIs(kOrders),
            Each(AllOf(HasSubstr("`tile.read_vector %m_other from %m_peer"), kNotCompleted))));
}

TEST_F(Seesaw, weightsUsedBeforeTheyAreComplete) {
  // Where each group looks only at its own maxima, the weights are the first that it reads.
  tile::AwaitOp await = awaitOfWeights(kernel);
  auto written = *await->getBlock()->getOps<tile::WriteVectorOp>().begin();
  for (auto read : await->getBlock()->getOps<tile::ReadVectorOp>())
    read.getTileMutable().assign(written.getTile());
  await.erase();
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders),
                    Each(AllOf(HasSubstr("`tile.scale_packed %other_strip"), kNotCompleted))));
}

TEST_F(Seesaw, weightsOverwrittenWhileTheOtherGroupReadsThem) {
  for (auto acquire : kernel.all<tile::AcquireOp>())
    if (acquire.getPipe().getType().getStages() == 1 &&
        acquire->getParentOfType<tile::RoleOp>().getName() == "compute" &&
        acquire->getParentOfType<scf::ForOp>())
      acquire.erase();
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders),
                    Each(AnyOf(HasSubstr("writes shared memory"), HasSubstr("deadlock"))),
                    Contains(HasSubstr("writes shared memory"))));
}

TEST_F(Seesaw, sumsReadBeforeTheGroupsMeet) {
  for (auto meet : kernel.all<tile::BarrierSyncOp>())
    if (meet.getThreads() == 256)
      meet.erase();
  EXPECT_THAT(kernel.runAll(kOrders), AllOf(SizeIs(kOrders), Each(HasSubstr("tile.read_vector"))));
}

TEST_F(Seesaw, groupsThatMeetAtEachOthersBarriers) {
  auto meet = kernel.op<tile::BarrierSyncOp>(-1);
  ASSERT_EQ(meet.getThreads(), 256u);
  meet.setThreads(128);
  EXPECT_THAT(kernel.runAll(kOrders), AllOf(SizeIs(kOrders), Each(HasSubstr("tile.read_vector"))));
}

} // namespace
} // namespace attnc::interpreter
