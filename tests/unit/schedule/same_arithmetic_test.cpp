// Nests that compute the same scores get the same bits for them.
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/transforms/pair_roles.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attnc::schedule {
namespace {

/// A maximum, the sum of weights relative to it, and a pass that needs one of them and weighs
/// what tiles do not hold: v plus a number of the row.
std::string spec(const std::string &type, const std::string &weight) {
  return nlohmann::json{{"attnc", 1},
                        {"name", "twice"},
                        {"dims", {{"d", 16}, {"e", 16}}},
                        {"inputs",
                         {{"q", type + "[h, i, d]"},
                          {"k", type + "[h, j, d]"},
                          {"v", type + "[h, j, e]"},
                          {"x", "f32[i]"}}},
                        {"body",
                         {"s = sum(d, q * k)", "m = max(j, s)", "w = exp(s - m)", "z = sum(j, w)",
                          "o[h, i, e] = sum(j, " + weight + " * (v + x))"}},
                        {"outputs", {{"o", "f32"}}}}
      .dump();
}

/// Whether each nest that folds j has tiles.
std::vector<bool> tiled(const std::string &text) {
  FusedProgram program(text);
  EXPECT_TRUE(chooseSchedules(program.fused(), "sm_80", {}, nullptr).ok());
  std::vector<bool> found;
  for (red::NestOp nest : program.nests())
    if (!nest.states().empty())
      found.push_back(hasTiles(nest));
  return found;
}

// abs(...) needs the end of the first pass, and v + x has no tile: the second nest has none.
TEST(SameArithmetic, whoComputesScoresAgainMultipliesThemAlike) {
  for (const char *weight : {"abs(s - m)", "abs(s - m) * w", "abs(w / z - 0.5)"})
    EXPECT_EQ(tiled(spec("f32", weight)), (std::vector<bool>{false, false})) << weight;
}

TEST(SameArithmetic, productsOf16BitsAreTheSameEverywhere) {
  EXPECT_EQ(tiled(spec("bf16", "abs(w / z - 0.5)")), (std::vector<bool>{true, false}));
}

/// The forms of the pass that gives maximum and sum, and of the nest that stores weights.
std::vector<std::string> formsOfWeights(const std::string &type, const std::string &row,
                                        const std::string &stored = "f32") {
  std::string text = nlohmann::json{
      {"attnc", 1},
      {"name", "weights"},
      {"dims", {{"d", 16}}},
      {"inputs", {{"q", type + "[h, i, d]"}, {"k", type + "[h, j, d]"}, {"x", row}}},
      {"body", {"p[h, i, j] = softmax(j, sum(d, q * k) + x)"}},
      {"outputs",
       {{"p", stored}}}}.dump();
  FusedProgram program(text);
  EXPECT_TRUE(givePairRoles(program.nests().back(),
                            mlir::StringAttr::get(program.nests().back().getContext(), "j")));
  EXPECT_TRUE(chooseSchedules(program.fused(), "sm_90a", {}, nullptr).ok());
  std::vector<std::string> forms;
  for (red::NestOp nest : program.nests())
    forms.push_back(nest.getScheduleAttr().getForm().str());
  return forms;
}

// Instructions of a warp and of a warpgroup cut at different places what they add up.
TEST(SameArithmetic, weightsMeetAMaximumOfTheSameInstructions) {
  for (const char *type : {"f32", "bf16", "f16"})
    EXPECT_EQ(formsOfWeights(type, "f32[i]"), (std::vector<std::string>{"portable", "portable"}))
        << type;
  // Those of 16 bits are made by the instructions of warpgroups, too.
  EXPECT_EQ(formsOfWeights("bf16", "f32[i]", "bf16"),
            (std::vector<std::string>{"warpgroups", "warpgroups"}));
}

TEST(SameArithmetic, sumsWithoutAnExtremumMayDiffer) {
  std::string text = spec("f32", "abs(s - c)");
  text.replace(text.find("z = sum(j, w)"), 13, "c = sum(j, s)");
  EXPECT_EQ(tiled(text), (std::vector<bool>{true, false}));
}

/// Two passes that compute the elements of a maximum, one for each of its sides, and what becomes
/// of those that are the maximum.
std::string compared(const std::string &type, const std::string &score, const std::string &other) {
  return nlohmann::json{{"attnc", 1},
                        {"name", "compared"},
                        {"dims", {{"d", 16}, {"e", 16}}},
                        {"inputs",
                         {{"q", type + "[h, i, d]"},
                          {"k", type + "[h, j, d]"},
                          {"u", "f32[d]"},
                          {"v", type + "[h, j, e]"},
                          {"x", "f32[i]"},
                          {"y", type + "[h, i, e]"}}},
                        {"body",
                         {"s = sum(d, " + score + ")", "m = max(j, s)", "w = where(s == m, 1, 0)",
                          "o[h, i, e] = sum(j, w * v)", "r = " + other}},
                        {"outputs", {{"o", "f32"}, {"r", "f32"}}}}
      .dump();
}

// Rows and stream change places between o and r: parts of tf32, and operands that are computed
// first, are not added up alike.
TEST(SameArithmetic, whatIsComparedIsAddedUpAlike) {
  const std::string turned = "sum(i, w * y)";
  for (const char *score : {"q * k", "q * k * u"})
    EXPECT_EQ(tiled(compared("f32", score, turned)), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(tiled(compared("bf16", "q * k", turned)), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(tiled(compared("bf16", "q * k * u", turned)), (std::vector<bool>{false, false, false}));
}

} // namespace
} // namespace attnc::schedule
