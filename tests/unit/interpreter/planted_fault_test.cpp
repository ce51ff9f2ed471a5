// Faults planted in a kernel by hand: the interpreter finds each, in every order that it tries
// unless the test says otherwise.
#include "mlir/Dialect/Arith/IR/Arith.h"
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

constexpr uint64_t kOrders = 10;

class Fa3Loop : public PlantedFault {
protected:
  Fa3Loop() : PlantedFault(AttentionCase::fa3Loop(), kOrders) {}
};

/// What is read before the copy into it is known to be complete, or has been started.
const auto kNotArrived = AnyOf(HasSubstr("a copy that this warp does not know to be complete"),
                               HasSubstr("that nothing has written"));

TEST_F(Fa3Loop, isCorrectInAnyOrder) { EXPECT_THAT(kernel.runAll(20), IsEmpty()); }

//===----------------------------------------------------------------------===//
// Products. The waits: for the first scores, in the loop for scores and sums, at the end.
//===----------------------------------------------------------------------===//

TEST_F(Fa3Loop, scoresThatAreNotWaitedFor) {
  kernel.op<tile::MmaWaitOp>(1).erase();
  expectAlways("no tile.mma_wait covers it");
}

TEST_F(Fa3Loop, weightsReplacedBeforeTheirProductIsComplete) {
  kernel.op<tile::MmaWaitOp>(2).erase();
  expectAlways("writes registers that an unfinished product reads");
}

TEST_F(Fa3Loop, waitForTooFewGroups) {
  kernel.op<tile::MmaWaitOp>(1).setPending(2);
  expectAlways("names registers whose product it does not wait for");
}

TEST_F(Fa3Loop, groupThatIsNotClosed) {
  kernel.op<tile::MmaCommitOp>(1).erase();
  expectAlways("names registers whose product it does not wait for");
}

TEST_F(Fa3Loop, resultThatNoWaitNames) {
  kernel.op<tile::MmaWaitOp>(-1).getSettledMutable().clear();
  expectAlways("no tile.mma_wait since then names");
}

TEST_F(Fa3Loop, productWithoutFence) {
  kernel.op<tile::MmaFenceOp>(1).erase();
  expectAlways("since the last tile.mma_fence");
}

TEST_F(Fa3Loop, productsThatAreNeverWaitedFor) {
  // Without anybody who touches the result either.
  kernel.op<tile::MmaWaitOp>(-1).erase();
  kernel.op<tile::ScaleRowsOp>(-1).erase();
  kernel.op<tile::StoreFragmentRowsOp>(0).erase();
  EXPECT_THAT(
      kernel.runAll(kOrders),
      AllOf(SizeIs(kOrders),
            Each(AnyOf(HasSubstr("no tile.mma_wait covers it"),
                       HasSubstr("that no tile.mma_wait has waited for"),
                       HasSubstr("a product that this warp does not know to be complete")))));
}

//===----------------------------------------------------------------------===//
// Tiles. The releases: keys of the first tile, keys and values in the loop, queries, last values.
//===----------------------------------------------------------------------===//

TEST_F(Fa3Loop, keysReleasedBeforeTheirProductIsComplete) {
  kernel.op<tile::ReleaseOp>(1)->moveBefore(kernel.op<tile::MmaWaitOp>(1));
  expectAlways("a product that this warp does not know to be complete");
}

TEST_F(Fa3Loop, valuesReleasedBeforeTheirProductIsComplete) {
  kernel.op<tile::ReleaseOp>(2)->moveBefore(kernel.op<tile::MmaWaitOp>(2));
  expectAlways("a product that this warp does not know to be complete");
}

TEST_F(Fa3Loop, queriesReleasedWhileTheyAreNeeded) {
  kernel.op<tile::ReleaseOp>(3)->moveAfter(kernel.op<tile::ReleaseOp>(0));
  // The copy of the next queries meets a product with these, whichever of the two is seen last.
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders), Each(AllOf(HasSubstr("`tile.fill %q_pipe"),
                                                HasSubstr("`tile.mma_start %s, %q_strip"),
                                                HasSubstr("while it is")))));
}

TEST_F(Fa3Loop, keysThatAreNotAwaited) {
  kernel.op<tile::AwaitOp>(2).erase();
  EXPECT_THAT(kernel.runAll(kOrders), AllOf(SizeIs(kOrders), Each(kNotArrived)));
}

TEST_F(Fa3Loop, queriesThatAreNotAwaited) {
  kernel.op<tile::AwaitOp>(0).erase();
  EXPECT_THAT(kernel.runAll(kOrders), AllOf(SizeIs(kOrders), Each(kNotArrived)));
}

TEST_F(Fa3Loop, awaitsOfTwoPipesSwapped) {
  auto keys = kernel.op<tile::AwaitOp>(2), values = kernel.op<tile::AwaitOp>(3);
  Value pipe = keys.getPipe();
  keys.getPipeMutable().assign(values.getPipe());
  values.getPipeMutable().assign(pipe);
  // The keys of the next tile are awaited as values, which come later.
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders),
                    Each(AllOf(HasSubstr("`tile.mma_start %s, %q_strip, %k "), kNotArrived))));
}

TEST_F(Fa3Loop, stageReusedBeforeItIsFree) {
  kernel.op<tile::AcquireOp>(2).erase(); // of keys in the loop
  expectAlways("writes shared memory");
}

TEST_F(Fa3Loop, acquiresOfTwoPipesSwapped) {
  auto keys = kernel.op<tile::AcquireOp>(2), values = kernel.op<tile::AcquireOp>(3);
  Value pipe = keys.getPipe();
  keys.getPipeMutable().assign(values.getPipe());
  values.getPipeMutable().assign(pipe);
  // Only where the consumers are slow do the keys' copies wait for the values' releases.
  EXPECT_THAT(kernel.runAll(kOrders), Contains(HasSubstr("deadlock")));
}

TEST_F(Fa3Loop, tooFewUsers) {
  kernel.op<tile::PipeOp>(1).setUsers(4);
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders),
                    Each(AnyOf(HasSubstr("while it is"), HasSubstr("its slot has been freed"),
                               HasSubstr("deadlock")))));
}

TEST_F(Fa3Loop, tooManyUsers) {
  kernel.op<tile::PipeOp>(1).setUsers(16);
  expectAlways("deadlock");
}

// One more at the end of each tile of rows than the consumers take.
void fillOnceMore(AttentionKernel &kernel) {
  auto fill = kernel.op<tile::FillOp>(0);
  auto acquire = kernel.op<tile::AcquireOp>(0);
  OpBuilder builder(kernel.op<tile::FillOp>(-1)->getBlock()->getTerminator());
  auto next = kernel.op<tile::FillOp>(-1)->getBlock()->getTerminator()->getOperand(0);
  auto again = cast<tile::AcquireOp>(builder.clone(*acquire));
  again.getNumberMutable().assign(next);
  auto more = cast<tile::FillOp>(builder.clone(*fill));
  more.getNumberMutable().assign(next);
}

TEST_F(Fa3Loop, copyThatNobodyAwaits) {
  AttentionCase oneTile = AttentionCase::fa3Loop();
  oneTile.blocks = 4; // none takes a second tile of rows
  AttentionKernel kernel(oneTile);
  fillOnceMore(kernel);
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders),
                    Each(AllOf(HasSubstr("`tile.fill %k_pipe"),
                               HasSubstr("starts a copy that no warp awaits before the block "
                                         "ends")))));
}

TEST_F(Fa3Loop, copyOverOneThatNobodyAwaits) {
  fillOnceMore(kernel);
  // The next tile of rows starts with the same number.
  EXPECT_THAT(kernel.runAll(kOrders),
              AllOf(SizeIs(kOrders),
                    Each(AllOf(HasSubstr("`tile.fill %k_pipe"), HasSubstr("writes shared memory"),
                               HasSubstr("while it is written by `tile.fill %k_pipe"),
                               HasSubstr("does not know to be complete (tile.await)")))));
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TEST_F(Fa3Loop, signalForgotten) {
  kernel.op<tile::BarrierArriveOp>(1).erase();
  expectAlways("deadlock");
}

TEST_F(Fa3Loop, differentNumbersOfThreads) {
  kernel.op<tile::BarrierSyncOp>(0).setThreads(384);
  expectAlways("is for 384 threads, where others wait for 256");
}

TEST_F(Fa3Loop, deadlocksSayWhoWaitsWhere) {
  kernel.op<tile::FillOp>(1).erase(); // of the queries
  EXPECT_THAT(kernel.run(0), AllOf(HasSubstr("deadlock"),
                                   HasSubstr("warp 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 waits"),
                                   HasSubstr("tile.await %q_pipe"),
                                   HasSubstr("1 of 1 arrivals and 0 bytes are missing")));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST_F(Fa3Loop, rowsThatTheLanesHaveNotCombined) {
  kernel.op<tile::ReduceQuadOp>(-1).erase();
  expectAlways("the result is wrong");
}

TEST_F(Fa3Loop, rowsStoredBeyondTheTensor) {
  auto store = kernel.op<tile::StoreFragmentRowsOp>(0);
  OpBuilder builder(store);
  store.getEndMutable().assign(
      arith::ConstantOp::create(builder, store.getLoc(), builder.getI32IntegerAttr(384)));
  expectAlways("of 'o', which has 102400");
}

TEST_F(Fa3Loop, registersThatNothingHasWritten) {
  kernel.op<tile::RegistersOp>(1).removeValueAttr(); // the sums of weights
  expectAlways("reads registers that nothing has written");
}

} // namespace
} // namespace attnc::interpreter
