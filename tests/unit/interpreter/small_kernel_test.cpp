// Ops that no attention kernel above uses, each in a kernel of a few lines.
#include "compiler/driver/compile.h"
#include "compiler/evaluator/interpreter/interpreter.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

namespace attnc::interpreter {
namespace {

/// Runs a kernel of one f32 result `o`, which every order must find as `expected`.
class SmallKernel : public testing::Test {
protected:
  /// What each order says; "" where it finds the expected result.
  std::vector<std::string> run(const std::string &body, const std::string &head,
                               int64_t blocks = 1) {
    std::string text = "tile.kernel @small(\"o\" = %o: !tile.ptr<f32>, \"map\" = %map: "
                       "!tile.tensor_map<[32, 64, 1], f32>) grid [1] " +
                       head + " {\n" + body + "\n}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {"the kernel is not valid: " + text};
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    auto compiled = KernelInterpreter::compile(kernel, text);
    if (!compiled)
      return {llvm::toString(compiled.takeError())};
    std::vector<std::string> said;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      std::vector<float> o(expected.size(), -1);
      Launch launch;
      launch.blocks = blocks;
      launch.args = {static_cast<void *>(o.data()),
                     TensorMapArg{o.data(), DType::F32, {32, 64, 1}, {128, 128 * 64}, {32, 64, 1}}};
      launch.memory = {{"o", reinterpret_cast<std::byte *>(o.data()), o.size() * 4, true}};
      llvm::Error fault = compiled->run(launch, seed);
      said.push_back(fault           ? llvm::toString(std::move(fault))
                     : o == expected ? ""
                                     : "wrong result");
    }
    return said;
  }

  void SetUp() override { driver::loadDialects(context); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::vector<float> expected;
};

static std::string without(std::string text, const std::string &line) {
  size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(at, line.size());
}

//===----------------------------------------------------------------------===//
// A result that leaves through shared memory: 64 rows of 32 elements, 2 row.
//===----------------------------------------------------------------------===//

class BulkStore : public SmallKernel {
protected:
  const std::string head = "threads 128 smem 8192";
  const std::string body = R"(
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2.0 : f32
    %c16 = arith.constant 16 : i32
    %warp = tile.warp
    %row = arith.muli %warp, %c16 : i32
    %x = tile.registers : !tile.fragment<16, 32>
    tile.map rows(%row as %i) cols(%c0 as %j) ins() outs(%x : !tile.fragment<16, 32>) {
      %real = arith.sitofp %i : i32 to f32
      %y = arith.mulf %real, %c2 : f32
      tile.yield %y : f32
    }
    %tile = tile.shared at 0 : !tile.shared<64, 32, f32, panels 64>
    %strip = tile.strip %tile[%row] : !tile.shared<64, 32, f32, panels 64> -> <16, 32, f32, panels 64>
    tile.store_fragment %x to %strip : !tile.fragment<16, 32>, !tile.shared<16, 32, f32, panels 64>
    tile.publish
    tile.barrier
    tile.single {
      tile.store_box %tile to %map(%c0, %c0) : !tile.shared<64, 32, f32, panels 64> -> !tile.tensor_map<[32, 64, 1], f32>
      tile.store_commit
      tile.store_wait 0 read
    })";

  void SetUp() override {
    SmallKernel::SetUp();
    for (int i = 0; i < 64; ++i)
      expected.insert(expected.end(), 32, 2.0f * i);
  }
  std::vector<std::string> runBody(const std::string &text) { return run(text, head); }
};

TEST_F(BulkStore, isCorrect) { EXPECT_THAT(runBody(body), Each(IsEmpty())); }

TEST_F(BulkStore, ofWhatIsNotPublished) {
  EXPECT_THAT(runBody(without(body, "tile.publish\n")), Each(HasSubstr("with no tile.publish")));
}

TEST_F(BulkStore, beforeTheWritersHaveMet) {
  EXPECT_THAT(runBody(without(body, "tile.barrier\n")),
              Each(AnyOf(HasSubstr("with no barrier or release between the two"),
                         HasSubstr("that nothing has written"))));
}

TEST_F(BulkStore, thatTheBlockDoesNotWaitFor) {
  EXPECT_THAT(runBody(without(body, "tile.store_wait 0 read\n")),
              Each(HasSubstr("is not waited for (tile.store_wait)")));
}

TEST_F(BulkStore, ofATileThatIsWrittenAgain) {
  std::string again = body;
  again.insert(again.find("tile.store_wait"),
               "tile.store_fragment %x to %strip : !tile.fragment<16, 32>, "
               "!tile.shared<16, 32, f32, panels 64>\n");
  EXPECT_THAT(runBody(again),
              Each(HasSubstr("a store that this warp does not know to be complete")));
}

//===----------------------------------------------------------------------===//
// Barriers in shared memory: warp 0 writes a vector, warp 1 reads it and stores it.
//===----------------------------------------------------------------------===//

class Barriers : public SmallKernel {
protected:
  const std::string head = "threads 64 smem 128";
  const std::string body = R"(
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %base = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %barriers = tile.shared at 64 : !tile.barriers<1>
    %tile = tile.shared at 0 : !tile.shared<1, 16, f32>
    tile.single {
      tile.start_barriers %barriers arrivals 32 : !tile.barriers<1>
    }
    tile.barrier
    %warp = tile.warp
    %writes = arith.cmpi eq, %warp, %c0 : i32
    %x = tile.registers all 3.0 : !tile.rows<16>
    scf.if %writes {
      tile.write_vector %x to %tile[%c0] : !tile.rows<16>, !tile.shared<1, 16, f32>
      tile.arrive %barriers[%c0] : !tile.barriers<1>
    } else {
      tile.pass %barriers[%c0] parity %c0 : !tile.barriers<1>
      tile.read_vector %x from %tile[%c0] : !tile.rows<16>, !tile.shared<1, 16, f32>
      tile.store_rows %x from %c0 to %c16, %o[%base] stride %one : !tile.rows<16> -> !tile.ptr<f32>
    })";

  void SetUp() override {
    SmallKernel::SetUp();
    expected.assign(16, 3.0f);
  }
};

TEST_F(Barriers, passWhatWasWrittenBefore) { EXPECT_THAT(run(body, head), Each(IsEmpty())); }

TEST_F(Barriers, thatNobodyWaitsAt) {
  EXPECT_THAT(run(without(body, "tile.pass %barriers[%c0] parity %c0 : !tile.barriers<1>\n"), head),
              Each(AnyOf(HasSubstr("with no barrier or release between the two"),
                         HasSubstr("that nothing has written"))));
}

TEST_F(Barriers, thatNobodyArrivesAt) {
  EXPECT_THAT(run(without(body, "tile.arrive %barriers[%c0] : !tile.barriers<1>\n"), head),
              Each(AllOf(HasSubstr("deadlock"), HasSubstr("32 of 32 arrivals"))));
}

TEST_F(Barriers, thatAreNotStarted) {
  EXPECT_THAT(
      run(without(body, "tile.start_barriers %barriers arrivals 32 : !tile.barriers<1>\n"), head),
      Each(HasSubstr("uses a barrier that has not been started")));
}

TEST_F(Barriers, ofAPhaseTooEarly) {
  std::string early = "%odd = arith.constant 1 : i32" + body;
  early.replace(early.find("parity %c0"), 10, "parity %odd");
  // Before warp 0 arrives the wait passes at once, afterwards it never does.
  EXPECT_THAT(run(early, head),
              Each(AnyOf(HasSubstr("with no barrier or release between the two"),
                         HasSubstr("that nothing has written"), HasSubstr("deadlock"))));
}

} // namespace
} // namespace attnc::interpreter
