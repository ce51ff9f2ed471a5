#include "compiler/schedule/stream/band_products.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

/// Attention beside sum(w, `sum`), of rows x and weights c.
llvm::SmallVector<BandProduct> bandsOf(const std::string &sum, const std::string &weights = "T") {
  nlohmann::json spec = librarySpec("full", 64);
  spec["dims"]["w"] = 9;
  spec["inputs"]["x"] = "T[b, h, i, e]";
  spec["inputs"]["c"] = weights + "[h, w]";
  for (auto &line : spec["body"])
    if (std::string text = line; text.starts_with("o["))
      line = text + " + sum(w, " + sum + ")";
  return LibraryNest(spec).plan.bands;
}

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

} // namespace
} // namespace attnc::schedule
