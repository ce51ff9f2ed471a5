// Bounds after many products in a row: every f32 evaluation stays within them, and a fault does
// not.
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "compiler/evaluator/inputs/inputs.h"
#include "compiler/evaluator/tolerance/compare.h"

#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

/// The pseudoinverse of a softmax kernel by Newton and Schulz, third order (Razavi et al. 2014).
/// `extra` is added to the scores.
std::string iteration(const std::string &extra) {
  return R"j({"attnc": 1, "name": "t",
    "dims": {"m": 16, "n": 16, "t": 16, "d": 16}, "let": {"steps": 6},
    "inputs": {"x": "f32[b,m,d]", "y": "f32[b,n,d]"},
    "body": [
      "a[b,m,n] = softmax(n, sum(d, x[b,m,d] * y[b,n,d]) / sqrt(size(d)) + )j" +
         extra + R"j()",
      "one[m,n] = where(m == n, 1.0, 0.0)",
      "z[b,m,n] = a[b,n,m] / (max(m, sum(n, a[b,m,n])) * max(n, sum(m, a[b,m,n])))",
      {"repeat": "steps", "carry": ["z"], "body": [
        "az[b,m,n] = sum(t, a[b,m,t] * z[b,t,n])",
        "u[b,m,n] = 7 * one - az",
        "v[b,m,n] = 15 * one - sum(t, az[b,m,t] * u[b,t,n])",
        "w[b,m,n] = 13 * one - sum(t, az[b,m,t] * v[b,t,n])",
        "z[b,m,n] = 0.25 * sum(t, z[b,m,t] * w[b,t,n])"]}],
    "outputs": {"z": "f32"},
    "reference": {"shape": {"b": 3}}})j";
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

class Parsed {
public:
  explicit Parsed(const std::string &text, int64_t size) {
    driver::loadDialects(context);
    Diagnostics diagnostics;
    std::string extent = std::to_string(size);
    spec = parseSpec(context, "test.json", text,
                     Overrides{{{"m", extent}, {"n", extent}, {"t", extent}}}, diagnostics);
    EXPECT_TRUE(spec.has_value());
  }
  attn::ProgramOp program() { return *spec->module->getOps<attn::ProgramOp>().begin(); }

  Array z(const EvalInputs &inputs, Precision precision) {
    EvalOptions options;
    options.precision = precision;
    return llvm::cantFail(evaluate(program(), inputs, options)).at("z");
  }

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::optional<Spec> spec;
};

struct Case {
  const char *name, *extra;
  int64_t size;
};

class Sharpened : public testing::TestWithParam<Case> {
protected:
  /// What f32 makes of the spec after `from` was replaced by `to`, compared with the spec itself.
  Comparison compared(uint64_t seed, const std::string &from, const std::string &to) {
    std::string text = iteration(GetParam().extra);
    Parsed spec(text, GetParam().size), other(replaced(text, from, to), GetParam().size);
    EvalInputs inputs = llvm::cantFail(makeInputs(spec.program(), {{"b", 3}}, seed));
    return compare(spec.z(inputs, Precision::Double), other.z(inputs, Precision::EmulatedF32));
  }
};

TEST_P(Sharpened, F32StaysWithin) {
  for (uint64_t seed : {1, 2, 3, 4, 5}) {
    Comparison comparison = compared(seed, "13 *", "13 *");
    EXPECT_EQ(comparison.failures + comparison.undecided, 0) << comparison.maxRatio;
    EXPECT_GT(comparison.maxRatio, 0.003);
  }
}

TEST_P(Sharpened, FaultsDoNot) {
  int64_t all = 3 * GetParam().size * GetParam().size;
  for (uint64_t seed : {1, 2, 3}) {
    EXPECT_GT(compared(seed, "13 *", "13.13 *").failures, all / 2) << "a coefficient 1 % off";
    EXPECT_GT(compared(seed, "15 *", "15.01 *").failures, all / 2) << "a coefficient off";
    EXPECT_GT(compared(seed, "7 * one - az", "7 * one - 1.01 * az").failures, all / 2)
        << "a term 1 % off";
    // One that has converged may as well be missing.
    if (GetParam().extra == std::string("0"))
      EXPECT_GT(compared(seed, "\"steps\": 6", "\"steps\": 5").failures, all / 2)
          << "an iteration is missing";
  }
}

INSTANTIATE_TEST_SUITE_P(Iterations, Sharpened,
                         testing::Values(Case{"Small", "0", 16}, Case{"Medium", "0", 64},
                                         Case{"Converged", "where(m == n, 6.0, 0.0)", 16}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace attnc::evaluator
