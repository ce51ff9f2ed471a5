// Faults planted in the kernel that the compiler makes of causal attention for GPUs without
// asynchronous products.
#include "compiler/driver/checks/check.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/pipeline.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Parser/Parser.h"
#include "tests/e2e/variant.h"
#include <gmock/gmock.h>

using namespace mlir;
using testing::AnyOf;
using testing::HasSubstr;

namespace attnc::interpreter {
namespace {

class PortableKernel : public testing::Test {
protected:
  void SetUp() override {
    driver::loadDialects(context);
    ASSERT_TRUE(spec);
    driver::CompileOptions options;
    options.target = "sm_80";
    options.upTo = driver::Stage::Tile;
    Result<driver::Compilation> compiled = driver::compile(*spec, options);
    ASSERT_TRUE(compiled) << compiled.error().text();
    compilation = std::move(*compiled);
    module = parseSourceString<ModuleOp>(compilation.nests.front().tile, &context);
    ASSERT_TRUE(module);
  }

  template <class Op> Op op(unsigned index) {
    std::vector<Op> list;
    module->walk([&](Op op) { list.push_back(op); });
    return list.at(index);
  }

  /// What a run of the kernel as it is now says in one order; empty if the result is right.
  std::string run(uint64_t seed) {
    compilation.nests.front().tile = driver::printIr(*module);
    driver::InterpreterOptions options;
    options.seeds = {seed};
    auto executor = driver::makeInterpreterExecutor(compilation, options);
    if (!executor)
      return executor.error().message;
    driver::CheckRequest request;
    request.extents = {{"b", 1}, {"h", 2}, {"i", 150}, {"j", 200}};
    request.kinds = {evaluator::InputKind::Random};
    Result<driver::CheckReport> report = driver::checkProgram(*spec, **executor, request);
    if (!report)
      return report.error().message;
    return report->ok() ? "" : report->worst()->why();
  }

  template <class Matcher> void expectAlways(Matcher why) {
    for (uint64_t seed = 0; seed < 8; ++seed)
      EXPECT_THAT(run(seed), why) << "order " << seed;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  e2e::LoadedSpec spec{"causal", {{"e", "128"}}};
  driver::Compilation compilation;
  OwningOpRef<ModuleOp> module;
};

TEST_F(PortableKernel, isCorrectInAnyOrder) { expectAlways(testing::IsEmpty()); }

TEST_F(PortableKernel, copiesThatAreNotWaitedFor) {
  op<tile::WaitOp>(0).erase();
  expectAlways(HasSubstr("a copy that this warp does not know to be complete (tile.wait there"));
}

TEST_F(PortableKernel, waitForTooFewGroups) {
  op<tile::WaitOp>(0).setPending(1);
  expectAlways(HasSubstr("a copy that this warp does not know to be complete"));
}

// Its own copies have arrived, those of other warps need not have; and the stage that is filled
// next may still be read.
TEST_F(PortableKernel, waitWithoutBarrier) {
  op<tile::BarrierOp>(0).erase();
  expectAlways(AnyOf(HasSubstr("a copy that this warp does not know to be complete"),
                     HasSubstr("that nothing has written")));
}

// The result is wider than the queries: a warp writes its strip over keys that others may still
// read.
TEST_F(PortableKernel, resultStoredWhileOperandsAreRead) {
  op<tile::BarrierOp>(1).erase();
  expectAlways(HasSubstr("with no barrier or release between the two"));
}

TEST_F(PortableKernel, resultReadBeforeItIsStored) {
  op<tile::BarrierOp>(2).erase();
  expectAlways(HasSubstr("with no barrier or release between the two"));
}

TEST_F(PortableKernel, rowsThatAreCopiedBeyondTheTensor) {
  auto copy = op<tile::CopyOp>(1); // the first tile of keys
  OpBuilder builder(copy);
  copy.getOffsetMutable().assign(
      arith::ConstantOp::create(builder, copy.getLoc(), builder.getI64IntegerAttr(2 * 200 * 64)));
  expectAlways(HasSubstr("of 'k', which has 51200"));
}

} // namespace
} // namespace attnc::interpreter
