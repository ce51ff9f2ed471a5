// What domains say of single tiles, and what follows: the order of row tiles, the choice of tiles.
#include "compiler/schedule/warpgroups/row_order.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

// Plain attention of 128 columns under a mask.
LibraryNest masked(const std::string &mask) {
  nlohmann::json spec = librarySpec("full", 128);
  for (nlohmann::json &line : spec["body"])
    if (auto text = line.get<std::string>(); text.starts_with("p = softmax(j, s"))
      line = "p = softmax(j, where(" + mask + ", s, -inf))";
  EXPECT_NE(spec.dump().find(mask), std::string::npos);
  return LibraryNest(spec);
}

// Elements decide: a tile is skipped if it has none, full if it has all.
TEST(TileClasses, areThoseOfTheElements) {
  struct Row {
    const char *mask;
    bool (*holds)(int64_t i, int64_t j);
  };
  const Row rows[] = {
      {"abs(i - j) < 40 or j < 16 or i < 24",
       [](int64_t i, int64_t j) { return std::abs(i - j) < 40 || j < 16 || i < 24; }},
      {"(i // 32 - j // 32) % 4 == 0 and j <= i",
       [](int64_t i, int64_t j) { return (i / 32 - j / 32) % 4 == 0 && j <= i; }},
  };
  constexpr int64_t kRows = 300, kStream = 350, kRowTile = 64, kColumns = 32;
  for (const Row &row : rows) {
    LibraryNest of = masked(row.mask);
    auto classes = tileClasses(of.nest, of.plan, kRowTile, kColumns, kRows, kStream);
    ASSERT_TRUE(classes) << row.mask;
    ASSERT_EQ(classes->size(), 5u);
    for (int64_t r = 0; r < 5; ++r)
      for (int64_t t = 0; t < 11; ++t) {
        int64_t held = 0, all = 0;
        for (int64_t i = r * kRowTile; i < std::min((r + 1) * kRowTile, kRows); ++i)
          for (int64_t j = t * kColumns; j < (t + 1) * kColumns; ++j, ++all)
            held += j < kStream && row.holds(i, j);
        TileClass expected = held == 0     ? TileClass::Skipped
                             : held == all ? TileClass::Full
                                           : TileClass::Partial;
        EXPECT_EQ((*classes)[r][t], expected) << row.mask << ' ' << r << ' ' << t;
      }
  }
}

TEST(TileClasses, areOfMasksWithHolesAlone) {
  for (const char *name : {"full", "causal", "sliding_window"}) {
    LibraryNest of(name, 64);
    EXPECT_FALSE(tileClasses(of.nest, of.plan, 64, 64, 512, 512)) << name;
  }
}

TEST(RowOrder, longRowTilesDoNotComeLast) {
  auto orderOf = [](LibraryNest of) { return rowOrder(of.nest, of.plan, 192, 80); };
  RowOrder causal = orderOf(LibraryNest("causal", 128));
  EXPECT_EQ(causal.lead, 0);
  EXPECT_TRUE(causal.lastFirst);
  RowOrder later = orderOf(masked("j >= i"));
  EXPECT_EQ(later.lead, 0);
  EXPECT_FALSE(later.lastFirst);
  RowOrder global = orderOf(masked("abs(i - j) < 512 or j < 64 or i < 64"));
  EXPECT_EQ(global.lead, 1);
  EXPECT_TRUE(global.lastFirst);
  RowOrder window = orderOf(masked("abs(i - j) < 512"));
  EXPECT_EQ(window.lead, 0);
  EXPECT_TRUE(window.lastFirst);
}

// Blocks of 256 in both directions: tiles whose borders are theirs.
TEST(Ranking, tilesFollowThePeriodOfTheMask) {
  LibraryNest of = masked("(i // 256 - j // 256) % 4 == 0 and j <= i");
  WarpgroupSchedule best = rankSchedules(of.nest, of.plan, hopper()).front().schedule;
  EXPECT_EQ(256 % best.rowTile(), 0) << best.rowTile();
  EXPECT_EQ(256 % best.streamTile, 0) << best.streamTile;
}

} // namespace
} // namespace attnc::schedule
