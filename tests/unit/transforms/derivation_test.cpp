// What the derivation says of a program: which rules it needed, and what was in the way of one
// pass.
#include "compiler/transforms/derivation/derivation.h"
#include "tests/unit/transforms/fused_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc {
namespace {

using derivation::Rule;
using derivation::Step;
using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

/// A spec of the scores `s`, the `body`, statements with ; between them, and an output `o` of f32.
std::string specOf(llvm::StringRef body) {
  std::string statements;
  for (llvm::StringRef statement : llvm::split(body, ';'))
    statements += ", \"" + statement.trim().str() + "\"";
  return R"j({"attnc": 1, "name": "t", "dims": {"d": 16, "e": 8, "x": 8, "u": "size(j) // 8"},
    "params": {"w": "f32 > 0 = 1"},
    "inputs": {"q": "f32[b,h,i,d]", "k": "f32[b,h,j,d]", "v": "f32[b,h,j,e]", "g": "f32[h]", "y": "f16[b,h,j,e]",
               "doc_q": "i32[b,i]", "doc_k": "i32[b,j]"},
    "body": ["s = sum(d, q[b,h,i,d] * k[b,h,j,d])")j" +
         statements + R"j(], "outputs": {"o": "f32"}})j";
}

/// The steps of all nests.
std::vector<Step> derivationOf(llvm::StringRef body) {
  FusedProgram program(specOf(body));
  std::vector<Step> steps;
  for (red::NestOp nest : program.nests())
    for (Step &step : derivation::stepsOf(nest))
      steps.push_back(std::move(step));
  return steps;
}

auto applies(Rule rule) { return Contains(Field(&Step::rule, rule)); }

const char *const kSoftmax = "p = softmax(j, s); o[b,h,i,e] = sum(j, p * v[b,h,j,e])";

struct RuleCase {
  Rule rule;
  const char *body;
};

class Derivation : public testing::TestWithParam<RuleCase> {};

TEST_P(Derivation, NamesTheRule) {
  EXPECT_THAT(derivationOf(GetParam().body), applies(GetParam().rule));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Derivation,
    testing::Values(
        RuleCase{Rule::State, kSoftmax}, RuleCase{Rule::Term, kSoftmax},
        RuleCase{Rule::SharedExponent, kSoftmax}, RuleCase{Rule::Rescaled, kSoftmax},
        RuleCase{Rule::Demoted, kSoftmax}, RuleCase{Rule::Eliminated, kSoftmax},
        RuleCase{Rule::OwnMaximum, "o[b,h,i,e] = sum(j, exp(s) * v[b,h,j,e]) / sum(j, exp(s))"},
        RuleCase{Rule::Deferred, "z = sum(j, s); o[b,h,i] = sum(j, s * z * s)"},
        RuleCase{Rule::Counted, "p = softmax(j, s); o[b,h,i] = sum(j, p * s - sum(j, p * s))"},
        RuleCase{Rule::Moment,
                 "p = softmax(j, s); m = sum(j, p * s); o[b,h,i] = sum(j, p * (s - m) * (s - m))"},
        RuleCase{Rule::MaskedWeight, "p = softmax(j, s); o[b,h,i] = sum(j, where(j <= i, p, 0))"},
        RuleCase{Rule::MaskFactor, "p = softmax(j, s); o[b,h,i] = sum(j, where(j <= i, p, 0))"},
        RuleCase{Rule::WeightTest, "p = softmax(j, s); o[b,h,i] = sum(j, xlogy(p, p))"},
        RuleCase{Rule::RaisedTerm, "p = softmax(j, s); o[b,h,i] = sum(j, p ** 3)"},
        RuleCase{Rule::LogSplit, "p = softmax(j, s); o[b,h,i] = sum(j, p * log(p))"},
        RuleCase{Rule::CancelledMaximum, "m = max(j, s); o[b,h,i] = sum(j, exp((s - m) * w))"},
        RuleCase{Rule::CombinedExponents, "o[b,h,i] = log(sum(j, exp(s)))"},
        RuleCase{Rule::Shifted, "z = sum(j, s); o[b,h,i] = max(j, s + z)"},
        RuleCase{Rule::Monotone, "z = sum(j, s); o[b,h,i] = max(j, exp(s + z))"},
        RuleCase{Rule::Negated, "o[b,h,i] = min(j, -s)"},
        RuleCase{Rule::Reassociated, "o[b,h,i,e] = sum(j, s * v[b,h,j,e])"},
        RuleCase{Rule::Segments, "o[b,h,x,e] = sum(u, y[b,h,x*size(u)+u,e])"},
        RuleCase{Rule::Cut, "z = sum(j, s); o[b,h,i] = sum(j, tanh(s * z))"},
        RuleCase{Rule::Recomputed, "p = softmax(j, s); o[b,h,j] = sum(i, p)"},
        RuleCase{Rule::Materialised, "p = softmax(j, s); o[b,h,j] = sum(i, p)"},
        RuleCase{Rule::HoistedVector,
                 "t = s * sum(d, q[b,h,i,d] * q[b,h,i,d]); o[b,h,i,e] = sum(j, "
                 "softmax(j, t) * v[b,h,j,e])"},
        RuleCase{Rule::Skipped,
                 "p = softmax(j, where(j <= i, s, -inf)); o[b,h,i,e] = sum(j, p * v[b,h,j,e])"},
        RuleCase{Rule::TileExtremes, "p = softmax(j, where(doc_q[b,i] == doc_k[b,j], s, -inf)); "
                                     "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"}),
    [](const auto &info) {
      std::string name = derivation::nameOf(info.param.rule).str();
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(MaskFactor, IsForSumsThatAreUsedLinearly) {
  for (const char *use :
       {"o[b,h,i] = z", "o[b,h,i] = 2 * z - w", "o[b,h,i] = where(i > 3, z, 1) / w",
        "o[b,h] = sum(i, z + g[h] * z)", "o[b,h,i,x] = z + sum(j, s * x)"})
    EXPECT_THAT(
        derivationOf(std::string("p = softmax(j, s); z = sum(j, where(j <= i, p, 0)); ") + use),
        applies(Rule::MaskFactor))
        << use;
}

// What the mask leaves may be far below the maximum of all: these ask how far.
TEST(MaskFactor, IsForNoSumWhoseSizeIsAskedFor) {
  for (const char *use :
       {"o[b,h,i] = 1 / z", "o[b,h,i] = log(z)", "o[b,h,i] = where(z == 0, 1.5, 2.5)",
        "o[b,h,i] = sqrt(z)", "o[b,h,i] = z * sum(j, s)", "o[b,h,i] = z * z",
        "o[b,h,i] = sum(j, where(j <= i, p, 0) * v[b,h,j,0]) / z"})
    EXPECT_THAT(
        derivationOf(std::string("p = softmax(j, s); z = sum(j, where(j <= i, p, 0)); ") + use),
        Not(applies(Rule::MaskFactor)))
        << use;
}

TEST(MaskFactor, IsForWeightsThatThePassHasWithoutTheMask) {
  EXPECT_THAT(
      derivationOf("p = softmax(j, where(j <= i, s, -inf)); o[b,h,i,e] = sum(j, p * v[b,h,j,e])"),
      Not(applies(Rule::MaskFactor)));
  EXPECT_THAT(derivationOf("o[b,h,i] = sum(j, where(j <= i, exp(s), 0))"),
              Not(applies(Rule::MaskFactor)));
}

TEST(DerivationOfSplits, IsThatOfTheWhole) {
  FusedProgram program(specOf(kSoftmax));
  program.splitStreams(4, 1);
  std::map<Rule, unsigned> counts = derivation::countRules(program.fused());
  for (Rule rule : {Rule::Split, Rule::Merged, Rule::Rescaled})
    EXPECT_EQ(counts.count(rule), 1u) << derivation::nameOf(rule).str();
}

TEST(DerivationOfATerm, HasItsPartsAndItsPlace) {
  std::vector<Step> steps =
      derivationOf("p = softmax(j, s); o[b,h,i,e] = sum(j, p * g[h] * v[b,h,j,e])");
  EXPECT_THAT(steps,
              Contains(AllOf(Field(&Step::rule, Rule::Term), Field(&Step::fold, "o"),
                             Field(&Step::line, testing::Gt(0u)),
                             Field(&Step::details,
                                   AllOf(Contains(Pair("C", "v")), Contains(Pair("a", "s")),
                                         Contains(Pair("b", "-p_max")),
                                         Contains(Pair("state", "sum(j, v * exp(s - p_max))")))))));
}

// What was in the way of the second pass, in words.
std::string cutOf(llvm::StringRef body) {
  for (const Step &step : derivationOf(body))
    if (step.rule == Rule::Cut)
      return step.fold + ": " + specTextOf(step);
  return "";
}

TEST(DerivationOfACut, NamesTheOperationAndThePropertyThatItLacks) {
  EXPECT_THAT(cutOf("z = sum(j, s); o[b,h,i] = sum(j, tanh(s * z))"),
              AllOf(HasSubstr("o: needs another pass over j: `tanh` in `tanh(s * z)`"),
                    HasSubstr("takes `z`"), HasSubstr("not a homomorphism from + to *")));
  EXPECT_THAT(cutOf("z = sum(j, s); o[b,h,i] = max(j, s * z)"),
              AllOf(HasSubstr("`*` in `s * z`"), HasSubstr("the sign of `z` is not proven"),
                    HasSubstr("f32 > 0")));
  EXPECT_THAT(cutOf("o[b,h,i,e] = max(j, softmax(j, s) * v[b,h,j,e])"),
              AllOf(HasSubstr("`*` in "), HasSubstr("it multiplies a weight exp(a) by values")));
  EXPECT_THAT(cutOf("p = softmax(j, s) * g[h]; o[b,h,i] = sum(j, p ** 0.5)"),
              AllOf(HasSubstr("`**` in `p ** 0.5`"), HasSubstr("the sign of `g` is not")));
  EXPECT_THAT(cutOf("p = softmax(j, s); r = sum(j, p * k[b,h,j,d]); "
                    "o[b,h,i] = sum(j, tanh(sum(d, r * k[b,h,j,d])))"),
              AllOf(HasSubstr("`tanh`"), HasSubstr("takes `r`")));
  EXPECT_THAT(cutOf("p = softmax(j, s); r = sum(j, p * k[b,h,j,d]); "
                    "o[b,h,i] = max(j, sum(d, r * k[b,h,j,d]))"),
              AllOf(HasSubstr("`sum` in `sum(d, r * k)`"), HasSubstr("takes `r`"),
                    HasSubstr("it folds the result together")));
  EXPECT_THAT(cutOf("p = softmax(j, s); o[b,h,i] = sum(j, where(p > 0.01, s, 0))"),
              AllOf(HasSubstr("`where`"), HasSubstr("condition is not decided")));
  EXPECT_THAT(cutOf("p = softmax(j, s); o[b,h,j] = sum(i, p)"), HasSubstr("a pass has one stream"));
}

// Sums over inner dims that tiles could compute, too.
TEST(DerivationOfACut, SaysWhyASumInATileIsStored) {
  const std::string softmax = "p = softmax(j, s); a[b,h,i,e] = sum(j, p * v[b,h,j,e]); ";
  EXPECT_THAT(cutOf(softmax + "o[b,h,i,j] = sum(e, tanh(a[b,h,i,e]) * v[b,h,j,e])"),
              AllOf(HasSubstr("o: needs another pass over e: `sum` in `sum(e, tanh(a) * v)`"),
                    HasSubstr("it takes what another pass leaves")));
  EXPECT_THAT(cutOf("n[b,h,j] = sum(d, relu(k[b,h,j,d])); p = softmax(j, s); o[b,h,i,e] = sum(j, "
                    "p * n * v[b,h,j,e])"),
              AllOf(HasSubstr("n: needs another pass over d: `sum`"),
                    HasSubstr("would compute it again for each tile of rows")));
}

TEST(DerivationOfACut, IsNoneOfWhatFuses) {
  EXPECT_EQ(cutOf(kSoftmax), "");
  EXPECT_EQ(cutOf("z = sum(j, exp(s)); o[b,h,i] = max(j, s * z)"), "");
}

TEST(DerivationText, NeverSpeakOfAnonymousValues) {
  for (const Step &step : derivationOf(
           "o[b,h,i] = -sum(j, xlogy(softmax(j, s), softmax(j, s))) / (1 + sum(j, exp(2 * s)))"))
    for (const std::string &text : {step.fold, specTextOf(step)})
      for (const char *anonymous : {"a fold", "a value", "term_", "moment_centre", "exponent_max"})
        EXPECT_THAT(text, Not(HasSubstr(anonymous)));
}

TEST(DerivationRules, HaveNamesThatLeadBack) {
  std::set<std::string> names;
  for (Rule rule : derivation::allRules()) {
    EXPECT_EQ(derivation::findRule(derivation::nameOf(rule)), rule);
    EXPECT_FALSE(derivation::statementOf(rule).empty());
    names.insert(derivation::nameOf(rule).str());
  }
  EXPECT_EQ(names.size(), derivation::allRules().size());
  EXPECT_EQ(derivation::findRule("no-such-rule"), std::nullopt);
}

} // namespace
} // namespace attnc
