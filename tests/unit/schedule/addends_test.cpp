#include "compiler/schedule/nest/score_scale.h"
#include "compiler/schedule/stream/addends.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

/// Attention with scores as `scores` says of x, the sum of products. There are numbers slope[h],
/// r[i] and c[j], and a 0-d param `temperature` of any sign.
struct Biased {
  explicit Biased(const std::string &scores, const char *type = "bf16")
      : of(specWith(scores, type)) {
    joinAddends(of.nest);
    std::string why;
    plan = *planStream(of.nest, why);
  }

  static nlohmann::json specWith(const std::string &scores, const char *type) {
    nlohmann::json spec = librarySpec("full", 64);
    spec["types"]["T"] = type;
    spec["inputs"]["slope"] = "f32[h]";
    spec["inputs"]["r"] = "f32[i]";
    spec["inputs"]["c"] = "f32[j]";
    spec["params"]["temperature"] = "f32 = 2";
    spec["body"] = {"x = sum(d, q[b,h,i,d] * k[b,h,j,d])", "s = " + scores, "p = softmax(j, s)",
                    "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"};
    return spec;
  }

  /// Whether scores are a param times something, which then is a part of the exponent.
  bool areScaled() {
    return bool(positiveFactor(of.nest, plan.references.front().fold.getFactors().front()));
  }

  LibraryNest of;
  StreamPlan plan;
};

TEST(Addends, joinProductsWhereTheyGrowEvenlyAlongTheStream) {
  for (const char *term : {"slope[h] * (j - i)", "(j - i) * slope[h]", "r[i] * (j - i)",
                           "slope[h] * j", "slope[h] * r[i] * (j - 3 * i + size(i))",
                           "(j - i) / r[i]", "0.5 * (j - i)", "-(slope[h] * (j - i))"}) {
    Biased biased("x * scale + " + std::string(term));
    ASSERT_EQ(biased.plan.addends.size(), 1u) << term;
    EXPECT_EQ(biased.plan.addends[0].step, 1) << term;
    EXPECT_TRUE(biased.areScaled()) << term;
  }
}

TEST(Addends, fallWhereTheIndexIsSubtracted) {
  Biased biased("x * scale - slope[h] * (i - j)");
  ASSERT_EQ(biased.plan.addends.size(), 1u);
  EXPECT_EQ(biased.plan.addends[0].step, -1);
}

TEST(Addends, joinBehindMasksAndWithoutAScale) {
  EXPECT_EQ(Biased("x + slope[h] * (j - i)").plan.addends.size(), 1u);
  Biased masked("where(j <= i, x * scale + slope[h] * (j - i), -inf)");
  EXPECT_EQ(masked.plan.addends.size(), 1u);
  EXPECT_TRUE(masked.areScaled());
}

TEST(Addends, areOfNothingElse) {
  for (const char *scores :
       {"x * scale + slope[h] * (2 * j - i)", "x * scale + slope[h] * abs(j - i)",
        "x * scale + c[j] * (j - i)", "x * scale + slope[h] * (j - i) * j", "x * scale + c[j]",
        "x * scale + slope[h] / (j + 1)", "x * temperature + slope[h] * (j - i)",
        "x * scale + x * slope[h] * (j - i)", "tanh(x * scale) + slope[h] * (j - i)",
        "x * scale + slope[h] * (j * j)", "x * scale + slope[h] * (i * j)"})
    EXPECT_TRUE(Biased(scores).plan.addends.empty()) << scores;
}

TEST(Addends, areNotOfF32WhoseProductsAreScaledLater) {
  EXPECT_TRUE(Biased("x * scale + slope[h] * (j - i)", "f32").plan.addends.empty());
}

} // namespace
} // namespace attnc::schedule
