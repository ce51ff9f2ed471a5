#include "compiler/schedule/nest/score_scale.h"
#include "compiler/schedule/stream/addends.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

/// Attention with scores as `scores` says of x, the sum of products. There are numbers slope[h],
/// r[i] and c[j], and params `temperature` of any sign and `other` above 0.
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
    spec["params"]["other"] = "f32 > 0 = 2";
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

// A dead map has others before it.
TEST(Addends, leaveNoMapsBehind) {
  nlohmann::json spec = librarySpec("gqa", 64);
  spec["inputs"]["slope"] = "f32[h]";
  spec["body"] = {"x = sum(d, q[b,h,i,d] * k[b,h//g,j,d]) * scale",
                  "p = softmax(j, x + slope[h] * (j - i))",
                  "o[b,h,i,e] = sum(j, p * v[b,h//g,j,e])"};
  LibraryNest of(spec);
  joinAddends(of.nest);
  for (auto map : of.nest.getBodyBlock()->getOps<attn::MapOp>())
    EXPECT_FALSE(map.use_empty());
}

// The factor of a reference is taken off its scores once, and no other.
TEST(Addends, haveOneFactorBehindThem) {
  for (const char *scores :
       {"(x * scale + slope[h] * (j - i)) * scale", "(x * scale + slope[h] * (j - i)) * other",
        "where(j <= i, x * scale + slope[h] * (j - i), -inf) * other"})
    EXPECT_TRUE(Biased(scores).plan.addends.empty()) << scores;
  EXPECT_EQ(Biased("(x + slope[h] * (j - i)) * scale").plan.addends.size(), 1u);
}

// They see scores without their offset.
TEST(Addends, areOfNoConditions) {
  for (const char *scores :
       {"where(x * scale + slope[h] * (j - i) > 0.5, x * scale + slope[h] * (j - i), -inf)",
        "where(x + slope[h] * (j - i) > c[j], x + slope[h] * (j - i), -inf)"})
    EXPECT_TRUE(Biased(scores).plan.addends.empty()) << scores;
}

// What is rounded with an offset cancels in quotients alone. From where the stream is walked changes
// nothing.
TEST(Addends, areOfNoMaximaThatAreStored) {
  nlohmann::json spec = Biased::specWith("x * scale + slope[h] * (j - i)", "bf16");
  spec["body"].push_back("l[b,h,i] = logsumexp(j, s)");
  spec["outputs"]["l"] = "f32";
  LibraryNest of(spec);
  joinAddends(of.nest);
  std::string why;
  StreamPlan plan = *planStream(of.nest, why);
  EXPECT_TRUE(plan.addends.empty());
  ASSERT_TRUE(plan.growth);
  EXPECT_EQ(plan.growth->step, 1);
}

TEST(Addends, growForAllRowsAlike) {
  EXPECT_TRUE(Biased("x * scale + slope[h] * (j - i)").plan.growth);
  EXPECT_FALSE(Biased("x * scale + r[i] * (j - i)").plan.growth);
  EXPECT_FALSE(Biased("x * scale + c[j]").plan.growth);
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
