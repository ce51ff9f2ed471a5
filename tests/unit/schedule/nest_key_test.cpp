#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/choice/nest_key.h"
#include "compiler/transforms/derivation/derivation.h"
#include "tests/unit/schedule/library_nest.h"
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

std::string keyOf(const nlohmann::json &spec) {
  LibraryNest of(spec);
  return nestKey(of.nest);
}

nlohmann::json causal() { return librarySpec("causal", 64); }

TEST(NestKey, namesDoNotMatter) {
  nlohmann::json renamed = {
      {"attnc", 1},
      {"name", "another"},
      {"doc", "The same with other names"},
      {"types", {{"E", "bf16"}}},
      {"dims", {{"c", 64}, {"w", 64}}},
      {"params", {{"factor", "f32 > 0 = 0.125"}}},
      {"inputs",
       {{"queries", "E[n, g, r, c]"}, {"keys", "E[n, g, s, c]"}, {"vals", "E[n, g, s, w]"}}},
      {"body",
       {"x = sum(c, queries[n,g,r,c] * keys[n,g,s,c]) * factor",
        "y = softmax(s, where(s <= r, x, -inf))", "out[n,g,r,w] = sum(s, y * vals[n,g,s,w])"}},
      {"outputs", {{"out", "E"}}}};
  EXPECT_EQ(keyOf(renamed), keyOf(causal()));
}

TEST(NestKey, theScheduleDoesNotMatter) {
  LibraryNest of("causal", 64);
  std::string before = nestKey(of.nest);
  of.nest.setScheduleAttr(tile::GenericAttr::get(of.nest.getContext(), {64}));
  EXPECT_EQ(nestKey(of.nest), before);
}

// The record of how a nest came about has lines and columns of the spec.
TEST(NestKey, placesInTheSpecDoNotMatter) {
  FusedProgram close(causal().dump()), far("\n\n" + causal().dump(4));
  auto steps = [](FusedProgram &program) { return derivation::stepsOf(program.nests()[0]); };
  ASSERT_FALSE(steps(close).empty());
  EXPECT_FALSE(steps(close) == steps(far));
  EXPECT_EQ(nestKey(close.nests()[0]), nestKey(far.nests()[0]));
  std::string before = nestKey(far.nests()[0]);
  far.nests()[0]->removeAttr(derivation::kAttr);
  EXPECT_EQ(nestKey(far.nests()[0]), before);
}

TEST(NestKey, whatIsComputedMatters) {
  std::set<std::string> keys = {keyOf(causal()), keyOf(librarySpec("causal", 128)),
                                keyOf(librarySpec("full", 64)), keyOf(librarySpec("lse", 64)),
                                keyOf(librarySpec("softcap", 64))};
  nlohmann::json half = causal(), unbounded = causal(), strict = causal(), stored = causal();
  half["types"]["T"] = "f16";
  unbounded["params"]["scale"] = "f32 = 1";
  strict["body"][1] = "p = softmax(j, where(j < i, s, -inf))";
  stored["outputs"]["o"] = "f32";
  for (const nlohmann::json &spec : {half, unbounded, strict, stored})
    keys.insert(keyOf(spec));
  EXPECT_EQ(keys.size(), 9u);
}

TEST(NestKey, isThirtyTwoHexadecimalDigits) {
  std::string key = keyOf(causal());
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
}

} // namespace
} // namespace attnc::schedule
