#include "compiler/schedule/nest/reference_degree.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attnc::schedule {
namespace {

// s, its maximum m, the weights x = exp(s - m), their sum z, and the sum u of weighted values.
const std::vector<std::string> kSums = {"s = sum(d, q[b,h,i,d] * k[b,h,j,d])", "m = max(j, s)",
                                        "x = exp(s - m)", "z = sum(j, x)",
                                        "u[b,h,i,e] = sum(j, x * v[b,h,j,e])"};

using Question = bool (*)(red::NestOp nest, red::FoldOp reference);

std::vector<red::FoldOp> referencesOf(red::NestOp nest) {
  std::vector<red::FoldOp> references;
  for (red::FoldOp state : nest.states())
    if (mlir::Value reference = state.getReference())
      if (auto fold = reference.getDefiningOp<red::FoldOp>(); !llvm::is_contained(references, fold))
        references.push_back(fold);
  return references;
}

// The answer for each reference of the nest that computes `statements` after kSums and stores their
// `names`.
std::vector<bool> ask(Question question, std::vector<std::string> statements,
                      const std::vector<std::string> &names) {
  statements.insert(statements.begin(), kSums.begin(), kSums.end());
  nlohmann::json outputs;
  for (const std::string &name : names)
    outputs[name] = "f32";
  FusedProgram program(nlohmann::json(statements).dump(), outputs.dump());
  std::vector<red::NestOp> nests = program.nests();
  EXPECT_EQ(nests.size(), 1u);
  std::vector<bool> found;
  for (red::FoldOp reference : referencesOf(nests.front()))
    found.push_back(question(nests.front(), reference));
  return found;
}

bool ask(Question question, const std::string &result) {
  std::vector<bool> found = ask(question, {result}, {result.substr(0, result.find('['))});
  EXPECT_EQ(found.size(), 1u) << result;
  return found.empty() || found.front();
}

std::vector<bool> depend(const std::vector<std::string> &statements,
                         const std::vector<std::string> &names) {
  return ask(dependsOnReference, statements, names);
}

bool depends(const std::string &result) { return ask(dependsOnReference, result); }

TEST(ReferenceDegree, quotientsOfSumsDoNotDepend) {
  for (const char *result :
       {"o[b,h,i,e] = u / z", "o[b,h,i,e] = u * (1 / z)", "o[b,h,i,e] = -u / z + r[i]",
        "o[b,h,i,e] = (u + 2 * u) / (z * r[i])", "o[b,h,i,e] = sigmoid(u / z)",
        "o[b,h,i] = z * z / (z * sum(j, c[j] * x))", "o[b,h,i] = sqrt(z * z) / z",
        "o[b,h,i,e] = u * z ** -1", "o[b,h,i,e] = u * rsqrt(z * z)",
        "o[b,h,i] = sum(j, c[j] * x) / sum(j, x)", "o[b,h,i,e] = maximum(u, z) / z",
        "o[b,h,i,e] = abs(u) / z", "o[b,h,i] = log(z / sum(j, c[j] * x))"})
    EXPECT_FALSE(depends(result)) << result;
}

TEST(ReferenceDegree, comparisonsOfLikeSumsDoNotDepend) {
  for (const char *result :
       {"o[b,h,i,e] = where(z == 0, 0, u / z)", "o[b,h,i,e] = where(u > z, 1, u / z)",
        "o[b,h,i,e] = u / where(z > 0, z, inf)", "o[b,h,i] = where(z > 0, 1.0, 2.0)"})
    EXPECT_FALSE(depends(result)) << result;
}

TEST(ReferenceDegree, sumsThemselvesDepend) {
  for (const char *result :
       {"o[b,h,i] = sum(j, x) * 1", "o[b,h,i,e] = u * 1", "o[b,h,i] = z * z", "o[b,h,i] = sqrt(z)",
        "o[b,h,i,e] = u / (z * z)", "o[b,h,i,e] = u / sqrt(z)", "o[b,h,i] = 1 / z",
        "o[b,h,i] = log(z)", "o[b,h,i,e] = sigmoid(u)", "o[b,h,i] = z ** 2 / z"})
    EXPECT_TRUE(depends(result)) << result;
}

TEST(ReferenceDegree, sumsBesideOtherNumbersDepend) {
  for (const char *result :
       {"o[b,h,i,e] = u / (1 + z)", "o[b,h,i,e] = u / (z + w)", "o[b,h,i,e] = u / maximum(z, 1)",
        "o[b,h,i,e] = u / z + u", "o[b,h,i,e] = where(z > 1, u / z, 0)",
        "o[b,h,i,e] = where(r[i] > 0, u / z, u)", "o[b,h,i,e] = u / (z + r[i])",
        "o[b,h,i] = where(z < z * z, 1.0, 2.0)", "o[b,h,i,e] = where(z * 2 > r[i], u, z) / z"})
    EXPECT_TRUE(depends(result)) << result;
}

TEST(ReferenceDegree, whateverReadsTheMaximumDepends) {
  for (const char *result :
       {"o[b,h,i] = m * 1 + 0 * z", "o[b,h,i] = m + log(z)", "o[b,h,i,e] = where(m > 0, u / z, 0)",
        "o[b,h,i,e] = u / (z + exp(w - m))"})
    EXPECT_TRUE(depends(result)) << result;
}

// Beyond the square the factor would leave little of f32's range.
TEST(ReferenceDegree, highPowersDepend) {
  EXPECT_FALSE(depends("o[b,h,i] = (z * z) / (z * z)"));
  EXPECT_TRUE(depends("o[b,h,i] = (z * z * z) / (z * z * z)"));
}

const std::string kOther = "t = sum(d, q[b,h,i,d] * k[b,h,j,d] * 2) + c[j]";

TEST(ReferenceDegree, eachMaximumCountsForItself) {
  std::vector<std::string> statements = {kOther, "y = exp(t - max(j, t))", "zt = sum(j, y)"};
  auto with = [&](const std::string &result) {
    std::vector<std::string> all = statements;
    all.push_back(result);
    return depend(all, {"o"});
  };
  EXPECT_EQ(with("o[b,h,i,e] = u / z - sum(j, y * v[b,h,j,e]) / zt"),
            (std::vector<bool>{false, false}));
  EXPECT_EQ(with("o[b,h,i,e] = (u / z) * zt"), (std::vector<bool>{false, true}));
  EXPECT_EQ(with("o[b,h,i,e] = u * (zt / zt)"), (std::vector<bool>{true, false}));
  EXPECT_EQ(with("o[b,h,i,e] = u / (z + zt)"), (std::vector<bool>{true, true}));
}

// A weight of 1 that is off by a rounding of the maximum is seen in a sum, and in the logarithm of
// a sum unless the maximum is added to it.
TEST(ReferenceDegree, roundingIsSeenWhereTheMaximumDoesNotHideIt) {
  for (const char *result :
       {"o[b,h,i,e] = u / z", "o[b,h,i] = m + log(z)", "o[b,h,i] = log(z) + m - r[i]",
        "o[b,h,i] = where(z == 0, -inf, m + log(z))", "o[b,h,i] = -(m + log(z))",
        "o[b,h,i] = log(z) - log(sum(j, c[j] * x))", "o[b,h,i] = z * exp(m)",
        "o[b,h,i,e] = where(m == -inf, 0, u / z)", "o[b,h,i] = exp(m + log(z))"})
    EXPECT_FALSE(ask(dependsOnRounding, result)) << result;
  for (const char *result :
       {"o[b,h,i] = z * 1", "o[b,h,i] = log(z)", "o[b,h,i] = log(z) - m", "o[b,h,i] = m + 0 * z",
        "o[b,h,i] = m + 2 * log(z)", "o[b,h,i,e] = where(m > 0, u / z, 0)",
        "o[b,h,i] = z * exp(-m)", "o[b,h,i,e] = u / (z + exp(w - m)) + m",
        "o[b,h,i] = maximum(m + log(z), log(z))", "o[b,h,i] = sqrt(m + log(z)) + log(z)",
        "o[b,h,i] = where(m + log(z) > m, 1.0, 2.0)"})
    EXPECT_TRUE(ask(dependsOnRounding, result)) << result;
}

// exp(m - n) is exact where both maxima are of the same scores, however large: the result has no
// rounding of m to hide behind.
TEST(ReferenceDegree, roundingIsSeenWhereTheMaximumMeetsAnother) {
  auto ofTwo = [](const std::string &result) {
    std::vector<bool> found =
        ask(dependsOnRounding, {"n = max(j, s * c[j])", result}, {result.substr(0, 1)});
    EXPECT_EQ(found.size(), 1u) << result;
    return found.empty() || found.front();
  };
  for (const char *result :
       {"o[b,h,i] = z * exp(m - n)", "o[b,h,i] = m + log(z) - n",
        "o[b,h,i,e] = u * exp(m) / exp(n)", "o[b,h,i,e] = u / (z + exp(n - m))",
        "o[b,h,i] = exp(m + log(z)) * (r[i] - n)"})
    EXPECT_TRUE(ofTwo(result)) << result;
  for (const char *result : {"o[b,h,i,e] = u / z + n", "o[b,h,i,e] = u / (z * (1 + abs(n)))"})
    EXPECT_FALSE(ofTwo(result)) << result;
}

// Weights that are dropped have a maximum of their own beside that of the sum they are divided by.
TEST(ReferenceDegree, centresOfMomentsCountForThemselves) {
  auto centres = [](const std::string &weight) {
    return ask(centresDependOnReference,
               {"p = " + weight, "g = sum(j, p * c[j])", "y[b,h,i] = log(z)",
                "o[b,h,i] = sum(j, p * (c[j] - g) ** 2)"},
               {"o", "y"});
  };
  EXPECT_EQ(centres("x / z"), (std::vector<bool>{false}));
  EXPECT_EQ(centres("x / (1 + z)"), (std::vector<bool>{true}));
  EXPECT_EQ(centres("where(c[j] > 0, x / z, 0)"), (std::vector<bool>{true, true}));
}

// A sink is a weight with the row's maximum as its reference.
TEST(ReferenceDegree, aSinkHasTheSameDegreeAsASum) {
  const char *result = "o[b,h,i,e] = u / (z + exp(w - m))";
  EXPECT_TRUE(depends(result));
  EXPECT_FALSE(ask(dependsOnRounding, result));
}

TEST(ReferenceDegree, oneOfSeveralResultsIsEnough) {
  EXPECT_EQ(depend({"o[b,h,i,e] = u / z", "y[b,h,i] = z * 1"}, {"o", "y"}),
            (std::vector<bool>{true}));
}

} // namespace
} // namespace attnc::schedule
