#include "compiler/schedule/stream/differences.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

/// Attention with `term` added to each score. There are tables w[n, h] and u[h, n] of numbers, some
/// of which are chosen by bucket[n], and r[i] and c[j].
struct Biased {
  explicit Biased(const std::string &term) : of(specWith(term)) {
    outlineDifferences(of.nest);
    std::string why;
    found = planStream(of.nest, why)->differences;
  }

  static nlohmann::json specWith(const std::string &term) {
    nlohmann::json spec = librarySpec("full", 64);
    spec["dims"]["n"] = 16;
    spec["inputs"]["w"] = "f32[n, h]";
    spec["inputs"]["u"] = "f32[h, n]";
    spec["inputs"]["bucket"] = "i32[n]";
    spec["inputs"]["r"] = "f32[i]";
    spec["inputs"]["c"] = "f32[j]";
    std::string scores = spec["body"][0];
    spec["body"][0] = scores + " + " + term;
    return spec;
  }

  LibraryNest of;
  llvm::SmallVector<Difference> found;
};

std::string nameOf(const Difference &difference) {
  auto read = difference.array.getDefiningOp<attn::ReadOp>();
  return read ? tensorOf(read.getSource()).name : "a map";
}

TEST(Differences, areWhatTablesHoldForADistance) {
  for (const char *term :
       {"w[minimum(abs(i - j), 15), h]", "w[minimum(maximum(j - i, 0), 15), h]",
        "w[minimum(abs(i - j + 3), 15), h]", "w[minimum(abs(size(j) - 1 + i - j), 15), h]",
        "w[minimum(abs(3 * (i - j) + h), 15), h]", "w[minimum(abs(3 * i - 3 * j), 15), h]",
        "w[minimum(abs(i - j), 7) + where(j > i, 8, 0), h]"}) {
    Biased biased(term);
    ASSERT_EQ(biased.found.size(), 1u) << term;
    EXPECT_EQ(nameOf(biased.found[0]), "w");
  }
}

TEST(Differences, areTheLargestParts) {
  Biased chosen("(w[bucket[minimum(abs(i - j), 15)], h] else 0)");
  ASSERT_EQ(chosen.found.size(), 1u);
  EXPECT_EQ(nameOf(chosen.found[0]), "w");
  Biased product("(w[minimum(abs(i - j), 15), h] * 2 + u[h, minimum(abs(j - i), 15)])");
  ASSERT_EQ(product.found.size(), 1u);
  EXPECT_EQ(nameOf(product.found[0]), "a map");
}

TEST(Differences, areWhatEachTermHasOfItsOwn) {
  Biased biased("w[minimum(abs(i - j), 15), h] * r[i] + u[h, minimum(abs(i - j), 15)] * c[j]");
  ASSERT_EQ(biased.found.size(), 2u);
  EXPECT_EQ(nameOf(biased.found[0]), "w");
  EXPECT_EQ(nameOf(biased.found[1]), "u");
}

TEST(Differences, areFunctionsThatCostMoreThanALoad) {
  EXPECT_EQ(Biased("tanh((i - j) / 8)").found.size(), 1u);
  EXPECT_EQ(Biased("1 / (1 + abs(i - j))").found.size(), 1u);
  EXPECT_TRUE(Biased("(i - j) * 0.125").found.empty());
  EXPECT_TRUE(Biased("where(i - j < 9, 0.5, 0)").found.empty());
}

TEST(Differences, areOfNothingElse) {
  for (const char *index : {"i + j", "i - 2 * j", "i", "j", "(i - j) * i", "i // 2 - j // 2"})
    EXPECT_TRUE(Biased("w[minimum(abs(" + std::string(index) + "), 15), h]").found.empty())
        << index;
  EXPECT_TRUE(Biased("tanh((i - j) * r[i])").found.empty());
  EXPECT_TRUE(Biased("tanh(i * 0.5 - j * 0.5)").found.empty()) << "would be rounded otherwise";
}

TEST(Differences, costWhatIsOnTheWayToThemOnce) {
  Biased one("w[minimum(abs(i - j), 15), h]");
  // i - j, its size, the least of two, a read.
  EXPECT_EQ(one.found[0].cost.plain, 3 + kReadCost.plain);
  EXPECT_EQ(one.found[0].cost.special, 0);
}

TEST(Differences, takeSharedMemoryAndNoReadsOfScores) {
  Biased biased("w[minimum(abs(i - j), 15), h]");
  LibraryNest plain("full", 64);
  WarpgroupSchedule schedule = makeSchedule(plain, 2, 64, 2);
  int64_t tables = 2 * 2 * (64 + 64) * 4;
  EXPECT_EQ(sharedBytes(biased.of.plan, schedule), sharedBytes(plain.plan, schedule) + tables);
  EXPECT_LE(consumerRegisters(biased.of.plan, schedule),
            consumerRegisters(plain.plan, schedule) + 8);
  schedule.pack = 2;
  EXPECT_FALSE(tabulatesDifferences(biased.of.plan, schedule));
}

} // namespace
} // namespace attnc::schedule
