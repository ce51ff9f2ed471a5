#include "compiler/schedule/warpgroups/row_runs.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

/// Attention whose keys are read as `key` says, of `input`; `length` numbers for each batch, a
/// `table` for each batch and page, and `at` for each key.
std::optional<RowRun> runOf(const std::string &input, const std::string &key, int64_t rows) {
  nlohmann::json spec = librarySpec("full", 64);
  spec["dims"]["t"] = 16;
  spec["inputs"]["kp"] = input;
  spec["inputs"]["length"] = "i32[b]";
  spec["inputs"]["table"] = "i32[b, w]";
  spec["inputs"]["at"] = "i32[j]";
  spec["reference"]["shape"]["n"] = 40;
  spec["reference"]["shape"]["w"] = 20;
  for (auto &line : spec["body"])
    if (std::string text = line; text.starts_with("s ="))
      line = "s = sum(d, q[b,h,i,d] * (kp[" + key + ",d] else 0)) * scale";
  LibraryNest nest(spec);
  for (const OperandTile &operand : nest.plan.streamed)
    if (attn::ReadOp read = operand.tensorRead(); read && tensorOf(read.getSource()).name == "kp")
      return runOfRows(read, nest.plan.stream, rows);
  ADD_FAILURE() << "no operand is read as " << key;
  return std::nullopt;
}

TEST(RowRuns, endWhereASequenceDoes) {
  nlohmann::json spec = librarySpec("varlen", 64);
  spec["dims"]["j"] = {{"extent", "len[b]"}};
  LibraryNest nest(spec);
  std::optional<RowRun> run =
      runOfRows(nest.plan.streamed.front().tensorRead(), nest.plan.stream, 64);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->rows, 64);
  EXPECT_EQ(run->axis, 2u);
}

TEST(RowRuns, beginAnywhere) {
  std::optional<RowRun> run = runOf("T[n, d]", "length[b] + j", 48);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->rows, 48);
  EXPECT_EQ(run->axis, 0u);
}

TEST(RowRuns, areTheRowsOfAPage) {
  const std::string pages = "T[n, t, h, d]", place = "table[b, j // 16] else 0, j % 16, h";
  for (auto [tile, rows] : {std::pair{80, 16}, {96, 16}, {16, 16}, {24, 8}}) {
    std::optional<RowRun> run = runOf(pages, place, tile);
    ASSERT_TRUE(run) << tile;
    EXPECT_EQ(run->rows, rows);
    EXPECT_EQ(run->axis, 1u);
  }
  EXPECT_FALSE(runOf(pages, place, 36)) << "runs of 4 rows are no whole swizzle";
}

TEST(RowRuns, areNoneWhereARowMayLieAnywhere) {
  EXPECT_FALSE(runOf("T[n, d]", "at[j]", 64));
  EXPECT_FALSE(runOf("T[n, d]", "at[j] + j", 64));
}

TEST(RowRuns, areNoneWhereRowsSkipOrTurnOrStay) {
  EXPECT_FALSE(runOf("T[n, d]", "2 * j", 64));
  EXPECT_FALSE(runOf("T[n, d]", "size(j) - j", 64));
  EXPECT_FALSE(runOf("T[n, d]", "j // 16", 64));
  EXPECT_FALSE(runOf("T[n, h, d]", "j, j % 16", 64)) << "two coordinates grow";
}

// What is negative where a comparison fails names no row, but what is computed from it may.
TEST(RowRuns, areNoneWhereASelectIsNoSubscriptItself) {
  const char *const pages = "T[n, b, h, j, d]";
  EXPECT_TRUE(runOf("T[b, h, n, d]", "b, h, where(j < length[b], j + 3, -1)", 64));
  EXPECT_TRUE(runOf(pages, "where(j < length[b], 2, -1), b, h, j", 64));
  EXPECT_FALSE(runOf("T[b, h, n, d]", "b, h, where(j < length[b], j + 3, -1) + 5", 64));
  EXPECT_FALSE(runOf(pages, "where(j < length[b], 2, -1) + 1, b, h, j", 64));
  EXPECT_FALSE(runOf(pages, "table[b, where(j < length[b], 2, -1)] else 0, b, h, j", 64));
  EXPECT_FALSE(runOf("T[b, h, n, d]",
                     "b, h, where(where(j < length[b], j, -1) < length[b] // 2, j + 3, -1)", 64));
  EXPECT_FALSE(runOf("T[b, h, n, d]", "b, h, j + where(length[b] >= j, 20, -1)", 64));
  EXPECT_FALSE(runOf("T[b, h, n, d]", "b, h, where(j != length[b], j, -1)", 64));
}

TEST(RowRuns, areNoneWherePagesBeginElsewhereThanTiles) {
  EXPECT_FALSE(runOf("T[n, t, h, d]", "table[b, (j + 3) // 16] else 0, (j + 3) % 16, h", 64));
  EXPECT_FALSE(runOf("T[n, t, h, d]", "table[b, j // size(w)] else 0, j % size(w), h", 64))
      << "pages of a size that launches say";
}

} // namespace
} // namespace attnc::schedule
