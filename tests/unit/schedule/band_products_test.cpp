#include "compiler/schedule/model/schedule_ranking.h"
#include "compiler/schedule/stream/band_products.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

/// Attention with `behind` in its last statement, of rows x and weights c.
nlohmann::json specWith(const std::string &behind, int64_t width = 9, int64_t columns = 64,
                        const std::string &weights = "T") {
  nlohmann::json spec = librarySpec("full", 64);
  spec["dims"]["w"] = width;
  spec["dims"]["e"] = columns;
  spec["inputs"]["x"] = "T[b, h, i, e]";
  spec["inputs"]["y"] = "T[b, i, h]";
  spec["inputs"]["c"] = weights + "[h, w]";
  for (auto &line : spec["body"])
    if (std::string text = line; text.starts_with("o["))
      line = text + behind;
  return spec;
}

llvm::SmallVector<BandProduct> bandsOf(const std::string &sum, const std::string &weights = "T") {
  return LibraryNest(specWith(" + sum(w, " + sum + ")", 9, 64, weights)).plan.bands;
}

const char *const kNear = " + sum(w, c[h,w] * (x[b,h,i+w-4,e] else 0))";

TEST(BandProducts, areSumsOverNearRows) {
  llvm::SmallVector<BandProduct> bands = bandsOf("c[h,w] * (x[b,h,i+w-4,e] else 0)");
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_EQ(bands[0].begin, -4);
  EXPECT_EQ(bands[0].width, 9);
  EXPECT_EQ(bands[0].cols, 64);
  EXPECT_FALSE(bands[0].isReversed);
  EXPECT_EQ(bandRows(bands[0], 64), 80);
}

TEST(BandProducts, mayGoTheOtherWay) {
  llvm::SmallVector<BandProduct> bands = bandsOf("(x[b,h,i-w+1,e] else 0) * c[h,w]");
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_EQ(bands[0].begin, -7); // the last weight is that of the first row
  EXPECT_TRUE(bands[0].isReversed);
}

TEST(BandProducts, areOfNothingElse) {
  EXPECT_TRUE(bandsOf("c[h,w] * (x[b,h,i+2*w,e] else 0)").empty());
  EXPECT_TRUE(bandsOf("c[h,w] * (x[b,h,w-4,e] else 0)").empty());
  EXPECT_TRUE(bandsOf("c[h,w] * (x[b,h,i+w-4,e] else 1)").empty());
  EXPECT_TRUE(bandsOf("c[h,w] * (x[b,h+w-4,i,e] else 0)").empty());
  EXPECT_TRUE(bandsOf("c[h,w] * (x[b,h,i+w-4,e] else 0)", "f32").empty()) << "would be rounded";
  EXPECT_TRUE(bandsOf("c[h,w] * c[h,w] * (x[b,h,i+w-4,e] else 0)").empty()) << "would be rounded";
}

// A sum over the columns reads elements of other lanes, and a head is no column of a result.
TEST(BandProducts, areOfTheColumnsOfResults) {
  std::string near = "sum(w, c[h,w] * (x[b,h,i+w-4,e] else 0))";
  auto plan = [](const std::string &behind) { return LibraryNest(specWith(behind)).plan; };
  EXPECT_TRUE(plan(" / (1 + sum(e, " + near + " ** 2))").bands.empty());
  EXPECT_TRUE(plan(" + sum(w, c[h,w] * (y[b,i+w-4,h] else 0))").bands.empty());
  EXPECT_EQ(plan(" * maximum(" + near + ", 0)").bands.size(), 1u);
}

TEST(BandProducts, areMadeWhereTheyHaveRoom) {
  WarpgroupSchedule schedule;
  auto made = [&](int64_t width, int64_t columns, int64_t groups) {
    schedule.groups = groups;
    return bandsIn(LibraryNest(specWith(kNear, width, columns)).plan, schedule).size();
  };
  EXPECT_EQ(made(9, 64, 2), 1u);
  EXPECT_EQ(made(129, 64, 2), 1u);
  EXPECT_EQ(made(145, 64, 2), 0u) << "272 rows";
  EXPECT_EQ(made(145, 64, 1), 1u);
  EXPECT_EQ(made(9, 192, 2), 0u) << "232 registers for states and bands";
  EXPECT_EQ(made(129, 64, 3), 0u) << "320 rows";
}

// Without room for the bands scalar code computes them, and the form stays.
TEST(BandProducts, areNoReasonForAnotherForm) {
  for (auto [width, columns] : {std::pair(9, 192), {9, 256}, {300, 64}, {1000, 64}}) {
    LibraryNest of(specWith(kNear, width, columns));
    EXPECT_FALSE(rankSchedules(of.nest, of.plan, *findGpuModel("sm_90a")).empty())
        << width << " " << columns;
  }
}

} // namespace
} // namespace attnc::schedule
