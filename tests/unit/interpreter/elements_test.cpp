// Elements of shared tiles read by scalar code, and products of f32 in halves.
#include "compiler/driver/compile.h"
#include "compiler/interpreter/interpreter.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

namespace attnc::interpreter {
namespace {

class Elements : public testing::Test {
protected:
  /// What some orders of a kernel with a result `o` of `expected` say; "" where they find it.
  std::vector<std::string> run(const std::string &body, int threads) {
    std::string text = "tile.kernel @small(\"o\" = %o: !tile.ptr<f32>) grid [1] threads " +
                       std::to_string(threads) + " smem 8192 {\n" + body + "\n}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {"the kernel is not valid: " + text};
    auto compiled = KernelInterpreter::compile(*module->getOps<tile::KernelOp>().begin(), text);
    if (!compiled)
      return {llvm::toString(compiled.takeError())};
    std::vector<std::string> said;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      std::vector<float> o(expected.size(), -1);
      Launch launch;
      launch.blocks = 1;
      launch.args = {static_cast<void *>(o.data())};
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

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// Two warps turn a tile of 32 x 32 numbers that both have written: o(i, j) = 32 j + i.
class Turned : public Elements {
protected:
  void SetUp() override {
    Elements::SetUp();
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 32; ++j)
        expected.push_back(32.0f * j + i);
  }

  const std::string body = R"(
    %zero = arith.constant 0 : i32
    %begin = arith.constant 0 : i64
    %wide = arith.constant 32 : i64
    %all = arith.constant 32 : i32
    %strip = arith.constant 16 : i32
    %warp = tile.warp
    %row = arith.muli %warp, %strip : i32
    %numbers = tile.shared at 0 : !tile.shared<32, 32, f32>
    tile.tabulate %numbers rows %zero : <32, 32, f32> {
    ^bb0(%r: i32, %c: i32):
      %before = arith.muli %r, %all : i32
      %n = arith.addi %before, %c : i32
      %x = arith.sitofp %n : i32 to f32
      tile.yield %x : f32
    }
    tile.barrier
    %turned = tile.registers : !tile.fragment<16, 32>
    tile.map rows(%row as %i) cols(%zero as %j) ins() outs(%turned : !tile.fragment<16, 32>) {
      %x = tile.peek %numbers[%j, %i] : <32, 32, f32> -> f32
      tile.yield %x : f32
    }
    %out = tile.shared at 4096 : !tile.shared<32, 32, f32>
    %mine = tile.strip %out[%row] : <32, 32, f32> -> <16, 32, f32>
    tile.store_fragment %turned to %mine : <16, 32>, <16, 32, f32>
    tile.barrier
    tile.store_tile %out to %o[%begin] stride %wide rows %all vector 16 : <32, 32, f32> -> <f32>)";
};

TEST_F(Turned, isTheTransposedTile) { EXPECT_THAT(run(body, 64), Each(IsEmpty())); }

TEST_F(Turned, beforeTheOtherWarpHasWrittenIsAFault) {
  EXPECT_THAT(run(replaced(body, "tile.barrier\n    %turned", "%turned"), 64),
              testing::Contains(HasSubstr("tile.peek")));
}

TEST_F(Turned, outsideOfTheTileIsAFault) {
  std::string far = replaced(body, "%x = tile.peek %numbers[%j, %i]",
                             "%far = arith.addi %i, %strip : i32\n"
                             "      %x = tile.peek %numbers[%j, %far]");
  EXPECT_THAT(run(far, 64), Each(HasSubstr("reads element (0, 32) of a tile of 32 x 32")));
}

/// Sums of 16 equal products of x = 1 + 2^-10 with itself: 1 + 2^-9 + 2^-20, of which halves leave
/// out the product of the smaller parts.
class Halves : public Elements {
protected:
  std::string body(const std::string &halves) {
    return R"(
    %zero = arith.constant 0 : i32
    %begin = arith.constant 0 : i64
    %wide = arith.constant 16 : i64
    %all = arith.constant 16 : i32
    %b = tile.shared at 0 : !tile.shared<16, 16, f32>
    tile.tabulate %b rows %zero : <16, 16, f32> {
    ^bb0(%r: i32, %c: i32):
      %x = arith.constant 1.0009765625 : f32
      tile.yield %x : f32
    }
    tile.barrier
    %x = tile.registers all 1.0009765625 : !tile.fragment<16, 16>
    %a = tile.to_operand %x )" +
           halves + R"( : <16, 16> -> <16, 16, f32>
    %c = tile.registers all 0.0 : !tile.fragment<16, 16>
    tile.mma %c, %a, %b )" +
           halves + R"( : <16, 16>, !tile.operand<16, 16, f32>, <16, 16, f32>
    %out = tile.shared at 4096 : !tile.shared<16, 16, f32>
    tile.store_fragment %c to %out : <16, 16>, <16, 16, f32>
    tile.barrier
    tile.store_tile %out to %o[%begin] stride %wide rows %all vector 16 : <16, 16, f32> -> <f32>)";
  }
};

TEST_F(Halves, leaveOutTheProductOfTheSmallerParts) {
  expected.assign(256, 16 * (1 + 0x1p-9f));
  EXPECT_THAT(run(body("halves"), 32), Each(IsEmpty()));
}

TEST_F(Halves, areNotWhatOtherProductsOfF32Are) {
  expected.assign(256, 16 * (1 + 0x1p-9f + 0x1p-20f));
  EXPECT_THAT(run(body(""), 32), Each(IsEmpty()));
}

} // namespace
} // namespace attnc::interpreter
