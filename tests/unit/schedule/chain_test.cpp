// Nests of small matrices that one launch computes.
#include "compiler/schedule/chains/chain_memory.h"
#include "compiler/schedule/chains/chain_nests.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attnc::schedule {
namespace {

using Body = std::vector<std::string>;

std::string spec(const Body &body, int m = 20) {
  return nlohmann::json{{"attnc", 1},
                        {"name", "small"},
                        {"dims", {{"m", m}, {"n", m}, {"x", m}, {"y", m}, {"big", 100}}},
                        {"inputs", {{"q", "f32[b, h, m, n]"}, {"r", "f32[b, h, big, n]"}}},
                        {"body", body},
                        {"outputs", {{"o", "f32"}}}}
      .dump();
}

const std::string square = "s[b,h,m,x] = sum(n, q[b,h,m,n] * q[b,h,n,x])";
const std::string cube = "o[b,h,m,x] = sum(n, q[b,h,m,n] * s[b,h,n,x])";

class Chains {
public:
  explicit Chains(const std::string &text, const nlohmann::json &overrides = {}) : program(text) {
    Status status = chooseSchedules(program.fused(), "sm_80", overrides, nullptr);
    EXPECT_TRUE(status.ok()) << status.error().text();
  }

  /// The number of each nest's chain, or -1.
  std::vector<int64_t> numbers() {
    std::vector<int64_t> found;
    for (red::NestOp nest : program.nests()) {
      auto number = nest->getAttrOfType<mlir::IntegerAttr>(kChainAttr);
      found.push_back(number ? number.getInt() : -1);
    }
    return found;
  }

  llvm::SmallVector<ChainArray> arrays(int64_t begin, int64_t end) {
    return placeChainArrays(program.nests(), begin, end);
  }
  std::vector<red::NestOp> nests() { return program.nests(); }

private:
  FusedProgram program;
};

using Numbers = std::vector<int64_t>;

TEST(Chain, productsOfSmallMatricesAreOne) {
  EXPECT_EQ(Chains(spec({square, cube})).numbers(), (Numbers{0, 0}));
}

TEST(Chain, matricesThatABlockDoesNotHoldAreNone) {
  EXPECT_EQ(Chains(spec({square, cube}, 65)).numbers(), (Numbers{-1, -1}));
  EXPECT_EQ(Chains(spec({square, "o[b,h,big,x] = sum(n, r * s[b,h,n,x])"})).numbers(),
            (Numbers{-1, -1}));
}

TEST(Chain, passesOverSequencesAreNone) {
  std::string text = nlohmann::json{
      {"attnc", 1},
      {"name", "small"},
      {"dims", {{"i", 16}, {"d", 16}, {"e", 16}}},
      {"inputs",
       {{"q", "f32[b, i, d]"},
        {"k", "f32[b, j, d]"},
        {"v", "f32[b, j, e]"},
        {"w", "f32[b, i, d]"}}},
      {"body",
       {"s[b,i,e] = sum(j, softmax(j, sum(d, q * k)) * v)", "t[b,i,j] = sum(e, s * v)",
        "o[b,i,e] = sum(j, softmax(j, t) * v)"}},
      {"outputs",
       {{"o", "f32"}}}}.dump();
  Numbers numbers = Chains(text).numbers();
  EXPECT_EQ(numbers, Numbers(numbers.size(), -1));
}

TEST(Chain, whatAnotherCellStoresIsNotThereYet) {
  EXPECT_EQ(
      Chains(spec({square, "o[b,h,m,x] = sum(n, q[b,h,m,n] * (s[b,h-1,n,x] else 0))"})).numbers(),
      (Numbers{-1, -1}));
}

TEST(Chain, whoSumsOverCellsIsNotInIt) {
  EXPECT_EQ(Chains(spec({square, "o[b,m,x] = sum(h, sum(n, q[b,h,m,n] * s[b,h,n,x]))"})).numbers(),
            (Numbers{-1, -1}));
}

TEST(Chain, mapsAndExtremaBetweenProductsAreInIt) {
  Numbers numbers = Chains(spec({square, "t[b,h,m,x] = sum(n, q[b,h,m,n] * s[b,h,n,x])",
                                 "u[b,h,m,x] = t / max(m, max(x, t))",
                                 "o[b,h,m,x] = sum(n, q[b,h,m,n] * u[b,h,n,x])"}))
                        .numbers();
  EXPECT_GE(numbers.size(), 4u);
  EXPECT_EQ(numbers, Numbers(numbers.size(), 0));
}

TEST(Chain, scheduleOfTheUserStands) {
  std::string first = "small_s";
  EXPECT_EQ(Chains(spec({square, cube}),
                   {{first, {{"row_tile", 16}, {"warps", 1}, {"column_groups", 0}}}})
                .numbers(),
            (Numbers{-1, -1}));
}

TEST(Chain, whoIsLeftAloneSaysSo) {
  Chains chains(spec({square, cube}),
                {{"small_s", {{"row_tile", 16}, {"warps", 1}, {"column_groups", 0}}}});
  auto source = chains.nests()[1]->getAttrOfType<mlir::StringAttr>(kScheduleSourceAttr);
  ASSERT_TRUE(source);
  EXPECT_NE(source.str().find("keep them out of it"), std::string::npos) << source.str();
}

TEST(Chain, blocksHoldWhatOnlyTheChainReads) {
  Chains chains(spec({square, cube}));
  llvm::SmallVector<ChainArray> arrays = chains.arrays(1024, 100000);
  ASSERT_EQ(arrays.size(), 1u); // the other one is the output
  EXPECT_EQ(arrays[0].offset, 1024);
  EXPECT_EQ(arrays[0].strides, (llvm::SmallVector<int64_t>{0, 0, 20, 1}));
  EXPECT_EQ(arrays[0].bytes, 20 * 20 * 4);
  EXPECT_TRUE(isKept(chains.nests()[0].getResult(0)));
  EXPECT_FALSE(isKept(chains.nests()[1].getResult(0)));
}

TEST(Chain, rowsOfWholeBanksArePadded) {
  llvm::SmallVector<ChainArray> arrays = Chains(spec({square, cube}, 64)).arrays(0, 100000);
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].strides, (llvm::SmallVector<int64_t>{0, 0, 68, 1}));
}

TEST(Chain, roomIsUsedAgain) {
  Body body = {square};
  for (int i = 0; i < 6; ++i)
    body.push_back("s" + std::to_string(i) + "[b,h,m,x] = sum(n, q[b,h,m,n] * s" +
                   (i ? std::to_string(i - 1) : "") + "[b,h,n,x])");
  body.push_back("o = s5");
  int64_t end = 0;
  llvm::SmallVector<ChainArray> arrays = Chains(spec(body)).arrays(0, 100000);
  EXPECT_GE(arrays.size(), 5u);
  for (const ChainArray &array : arrays)
    end = std::max(end, array.offset + array.bytes);
  EXPECT_EQ(end, 2 * 20 * 20 * 4); // one that is read, one that is written
}

// A cell of b alone has all of h, whose extent the launch knows.
TEST(Chain, whatHasNoKnownSizeGoesThroughMemory) {
  Chains chains(spec({square, cube}), {{"form", "generic"}, {"cell_dims", 1}});
  EXPECT_EQ(chains.numbers(), (Numbers{0, 0}));
  EXPECT_TRUE(chains.arrays(0, 100000).empty());
}

TEST(Chain, whatDoesNotFitGoesThroughMemory) {
  Chains chains(spec({square, cube}));
  EXPECT_TRUE(chains.arrays(1024, 1024 + 20 * 20 * 4 - 1).empty());
  EXPECT_FALSE(isKept(chains.nests()[0].getResult(0)));
}

} // namespace
} // namespace attnc::schedule
