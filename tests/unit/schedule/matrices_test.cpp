// Products of matrices with known terms: which rows a tile has, and which tiles.
#include "compiler/schedule/forms/keyed_form.h"
#include "tests/unit/schedule/library_nest.h"

#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using tile::PortableSchedule;

// c = a w, of n x n matrices.
nlohmann::json productOf(const char *type, int64_t n) {
  auto array = [&](const char *dims) { return std::string(type) + dims; };
  return {{"attnc", 1},
          {"name", "product"},
          {"dims", {{"m", n}, {"x", n}, {"y", n}}},
          {"inputs", {{"a", array("[b, m, y]")}, {"w", array("[b, y, x]")}}},
          {"body", {"c[b,m,x] = sum(y, a[b,m,y] * w[b,y,x])"}},
          {"outputs", {{"c", type}}}};
}

// One statement, which makes an o of f32.
nlohmann::json passOf(const nlohmann::json &dims, const nlohmann::json &inputs,
                      const std::string &statement) {
  return {{"attnc", 1},       {"name", "pass"},      {"dims", dims},
          {"inputs", inputs}, {"body", {statement}}, {"outputs", {{"o", "f32"}}}};
}

PortableSchedule chosen(const nlohmann::json &spec) {
  LibraryNest of(spec);
  PlannedNest planned(of.nest);
  std::string why;
  red::Schedule schedule = portableForm().choose(planned, hopper(), why);
  EXPECT_TRUE(schedule) << why;
  return schedule ? *tile::scheduleAs<PortableSchedule>(schedule) : PortableSchedule();
}

TEST(Matrices, HaveWarpsWith32RowsAndFewColumns) {
  for (const char *type : {"bf16", "f32"}) {
    PortableSchedule schedule = chosen(productOf(type, 256));
    EXPECT_EQ(schedule.rowTile / schedule.warps, 32) << type;
    EXPECT_EQ(schedule.minBlocks, 2) << type;
    EXPECT_EQ(schedule.headDimTile, std::string(type) == "f32" ? 64 : 128);
    EXPECT_TRUE(schedule.copyInputs) << type;
  }
}

TEST(Matrices, HaveTilesNoLargerThanTheyAre) {
  PortableSchedule narrow = chosen(productOf("bf16", 64));
  EXPECT_EQ(narrow.rowTile, 64);
  EXPECT_EQ(narrow.headDimTile, 0);
  EXPECT_LE(chosen(productOf("f32", 32)).rowTile, 32);
}

// Rows of a stream that is one tile: o is a pass over 32 landmarks.
TEST(Matrices, OfOneTileHaveWarpsWith16Rows) {
  nlohmann::json spec =
      passOf({{"d", 64}, {"n", 32}, {"e", 64}},
             {{"q", "f32[b, i, d]"}, {"k", "f32[b, n, d]"}, {"v", "f32[b, n, e]"}},
             "o[b,i,e] = sum(n, softmax(n, sum(d, q * k)) * v)");
  PortableSchedule schedule = chosen(spec);
  EXPECT_EQ(schedule.rowTile, 64);
  EXPECT_EQ(schedule.warps, 4);
  spec["dims"]["n"] = 64;
  EXPECT_EQ(chosen(spec).rowTile, 128);
}

// Weights of heads times a wide f32 tensor: two warps have half of the columns each.
TEST(Matrices, OfFewRowsDivideWideColumns) {
  nlohmann::json spec =
      passOf({{"c", 128}, {"h", 12}}, {{"s", "f32[b, i, h, j]"}, {"z", "f32[b, i, j, c]"}},
             "o[b,i,h,c] = sum(j, exp(s[b,i,h,j]) * z[b,i,j,c])");
  PortableSchedule schedule = chosen(spec);
  EXPECT_EQ(schedule.columnGroups, 2);
  EXPECT_EQ(schedule.headDimTile, 64);
  spec["dims"]["c"] = 64;
  EXPECT_EQ(chosen(spec).columnGroups, 0);
}

// A tile of a few elements would be padding.
TEST(Matrices, OfAFewElementsHaveNoTiles) {
  auto isTiled = [](int64_t columns) {
    nlohmann::json spec = productOf("f32", 9);
    spec["dims"]["x"] = columns;
    LibraryNest of(spec);
    PlannedNest planned(of.nest);
    std::string why;
    return bool(portableForm().choose(planned, hopper(), why));
  };
  EXPECT_FALSE(isTiled(6)); // 486 terms in all
  EXPECT_TRUE(isTiled(7));
}

// z = (a b) c: what a pass stores lies as the next one copies it.
TEST(Matrices, HaveTheRowsOfTheFirstFactorWhereAllElseIsEqual) {
  nlohmann::json spec = productOf("f32", 128);
  spec["dims"]["z"] = 128;
  spec["inputs"]["u"] = "f32[b, x, z]";
  spec["body"] = {"c[b,m,x] = sum(y, a[b,m,y] * w[b,y,x])", "o[b,m,z] = sum(x, c * u[b,x,z])",
                  "t[b,x,z] = sum(m, o * c)"};
  spec["outputs"] = {{"t", "f32"}};
  LibraryNest of(spec);
  for (auto nest : attn::programOf(of.nest).getBodyBlock()->getOps<red::NestOp>()) {
    ASSERT_EQ(nest.getRow().size(), 1u);
    auto stored = cast<attn::ArrayType>(nest.getResult(0).getType()).getDims();
    EXPECT_EQ(stored.back(), nest.getInner()[0]);
  }
}

} // namespace
} // namespace attnc::schedule
