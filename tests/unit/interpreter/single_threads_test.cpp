// Kernels whose threads are written one by one: what the interpreter says of those that share
// arrays without the barriers that this takes.
#include "compiler/driver/compile.h"
#include "compiler/interpreter/interpreter.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::AllOf;
using testing::HasSubstr;

namespace attnc::interpreter {
namespace {

constexpr int kThreads = 64;

/// A kernel of 64 threads, each of which stores an element of `o`.
class SingleThreads : public testing::Test {
protected:
  std::vector<float> o = std::vector<float>(kThreads, -1);

  /// What is wrong with the kernel, or "".
  std::string run(const std::string &body) {
    std::string text = R"(tile.kernel @small("o" = %o: !tile.ptr<f32>) grid [1] threads 64 smem 0 {
      %thread = tile.thread
      %c1 = arith.constant 1 : i32
      %c63 = arith.constant 63 : i32
      %at = arith.extsi %thread : i32 to i64
      %number = arith.sitofp %thread : i32 to f32
      %other = arith.subi %c63, %thread : i32
      %all = tile.array shared : <[64], f32>
      %own = tile.array : <[2], f32>
      %first = arith.cmpi slt, %thread, %c1 : i32
    )" + body + "}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return "the kernel is not valid: " + text;
    auto compiled = KernelInterpreter::compile(*module->getOps<tile::KernelOp>().begin(), text);
    if (!compiled)
      return llvm::toString(compiled.takeError());
    EXPECT_FALSE(compiled->hasOrders());
    Launch launch;
    launch.args = {static_cast<void *>(o.data())};
    launch.memory = {{"o", reinterpret_cast<std::byte *>(o.data()), o.size() * 4, true}};
    llvm::Error fault = compiled->run(launch, 0);
    return fault ? llvm::toString(std::move(fault)) : "";
  }

  void SetUp() override { driver::loadDialects(context); }
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

const std::string kWrite = "tile.set %number, %all[%thread] : f32 -> <[64], f32>\n";
const std::string kBarrier = "tile.barrier\n";
const std::string kRead = "%x = tile.get %all[%other] : <[64], f32> -> f32\n"
                          "tile.store %x, %o[%at] : f32 -> <f32>\n";

TEST_F(SingleThreads, handEachOtherWhatTheyWriteBeforeABarrier) {
  EXPECT_EQ(run(kWrite + kBarrier + kRead), "");
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(o[i], 63 - i);
}

// Threads run in the order of their numbers: the first that meets what another has done is told.
TEST_F(SingleThreads, readingBeforeTheBarrierIsARace) {
  EXPECT_THAT(run(kWrite + kBarrier + kWrite + kRead),
              AllOf(HasSubstr("block 0 thread 32"), HasSubstr("writes an element that thread 31"),
                    HasSubstr("reads with no tile.barrier between")));
}

TEST_F(SingleThreads, writingWhatOthersStillReadIsARace) {
  EXPECT_THAT(run(kWrite + kBarrier + kRead + kWrite),
              HasSubstr("writes with no tile.barrier between"));
}

TEST_F(SingleThreads, writingTheSameElementIsARace) {
  EXPECT_THAT(run("tile.set %number, %all[%c1] : f32 -> <[64], f32>\n"),
              HasSubstr("writes an element that thread 0 writes"));
}

TEST_F(SingleThreads, whatNothingHasWrittenIsNotRead) {
  EXPECT_THAT(run(kBarrier + kRead), HasSubstr("reads an element that nothing has written"));
  EXPECT_THAT(run("%x = tile.get %own[%c1] : <[2], f32> -> f32\n"),
              HasSubstr("reads an element that nothing has written"));
}

TEST_F(SingleThreads, arraysOfAThreadAreItsOwn) {
  EXPECT_EQ(run("tile.set %number, %own[%c1] : f32 -> <[2], f32>\n" + kBarrier +
                "%x = tile.get %own[%c1] : <[2], f32> -> f32\n"
                "tile.store %x, %o[%at] : f32 -> <f32>\n"),
            "");
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(o[i], i);
}

TEST_F(SingleThreads, indicesStayInsideOfArrays) {
  EXPECT_THAT(run("%next = arith.addi %thread, %c1 : i32\n"
                  "tile.set %number, %all[%next] : f32 -> <[64], f32>\n"),
              AllOf(HasSubstr("thread 63"), HasSubstr("an index outside of the array")));
}

TEST_F(SingleThreads, aBarrierThatSomeSkipHoldsTheOthers) {
  EXPECT_THAT(run("scf.if %first {\ntile.barrier\n}\n"),
              AllOf(HasSubstr("waits for thread 1"), HasSubstr("has ended")));
}

TEST_F(SingleThreads, lanesFoldTheirValues) {
  EXPECT_EQ(run("%x = tile.fold_lanes add %number : f32 -> f32\n"
                "tile.store %x, %o[%at] : f32 -> <f32>\n"),
            "");
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(o[i], i < 32 ? 31 * 32 / 2 : 31 * 32 / 2 + 32 * 32);
}

TEST_F(SingleThreads, aFoldThatALaneSkipsHoldsItsWarp) {
  EXPECT_THAT(run("scf.if %first {\n} else {\n%x = tile.fold_lanes max %number : f32 -> f32\n}\n"),
              HasSubstr("which has ended"));
}

TEST_F(SingleThreads, aFoldPropagatesNan) {
  EXPECT_EQ(run("%zero = arith.constant 0.0 : f32\n"
                "%nan = arith.divf %zero, %zero : f32\n"
                "%y = arith.select %first, %nan, %number : f32\n"
                "%x = tile.fold_lanes max %y : f32 -> f32\n"
                "tile.store %x, %o[%at] : f32 -> <f32>\n"),
            "");
  EXPECT_NE(o[5], o[5]);
  EXPECT_EQ(o[40], 63);
}

} // namespace
} // namespace attnc::interpreter
