// The smallest and the largest kernels of every form, and passes that keep little, compile for
// every GPU target: the interpreter runs kernels that ptxas may not take. Needs NVRTC, not a GPU.
#include "compiler/driver/compile.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

/// A spec over q[b, h, i, d], k[b, h, j, d] and v[b, h, j, e], the one kernel of which is compiled.
struct FormCase {
  std::string name, target, type;
  int width; ///< extent of d and e
  std::vector<std::string> body;
  std::string form;         ///< that it has, or is to have
  bool isScheduled = false; ///< the schedule asks for the form
};

void PrintTo(const FormCase &c, std::ostream *os) {
  *os << c.name << " of " << c.width << " " << c.type << " for " << c.target;
}

nlohmann::json specOf(const FormCase &c) {
  nlohmann::json spec = {{"attnc", 1},   {"name", "form"}, {"types", {{"T", c.type}}}, {"dims", {}},
                         {"inputs", {}}, {"body", c.body}, {"outputs", {{"o", "f32"}}}};
  for (auto [name, rows, columns] :
       {std::tuple("q", "i", "d"), std::tuple("k", "j", "d"), std::tuple("v", "j", "e")})
    for (const std::string &statement : c.body)
      if (statement.find(std::string(name) + "[b") != std::string::npos) {
        spec["inputs"][name] = std::string("T[b, h, ") + rows + ", " + columns + "]";
        spec["dims"][columns] = c.width;
      }
  return spec;
}

const std::string kScores = "s = sum(d, q[b,h,i,d] * k[b,h,j,d])";
const std::vector<std::string> kAttention = {kScores, "p = softmax(j, s)",
                                             "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"};
const std::vector<std::string> kMaximum = {kScores, "o = max(j, s)"};
const std::vector<std::string> kMinimum = {kScores, "o = min(j, s)"};
const std::vector<std::string> kRange = {kScores, "o = max(j, s) - min(j, s)"};
const std::vector<std::string> kElements = {"o[b,h,j,e] = exp(v[b,h,j,e])"};

std::vector<FormCase> formCases() {
  std::vector<FormCase> cases;
  for (const char *target : {"sm_80", "sm_90a"}) {
    // Warpgroups where the target has them and rows of 16-bit tensors are multiples of 16 bytes.
    std::string wide = target == std::string("sm_90a") ? "warpgroups" : "portable";
    cases.push_back({"attention", target, "bf16", 1, kAttention, "portable"});
    cases.push_back({"attention", target, "f32", 1, kAttention, "portable"});
    cases.push_back({"attention", target, "bf16", 8, kAttention, wide});
    cases.push_back({"attention", target, "bf16", 1024, kAttention, wide});
    cases.push_back({"attention", target, "bf16", 4096, kAttention, "portable"});
    cases.push_back({"maximum", target, "bf16", 8, kMaximum, wide});
    cases.push_back({"maximum", target, "bf16", 64, kMaximum, wide});
    cases.push_back({"maximum", target, "bf16", 96, kMaximum, wide});
    cases.push_back({"maximum", target, "bf16", 1024, kMaximum, wide});
    cases.push_back({"minimum", target, "f16", 64, kMinimum, wide});
    cases.push_back({"range", target, "f16", 16, kRange, wide});
    cases.push_back({"attention", target, "f32", 4096, kAttention, "rows"});
    cases.push_back({"attention", target, "bf16", 1, kAttention, "rows", /*isScheduled=*/true});
    cases.push_back({"attention", target, "bf16", 1, kAttention, "generic", /*isScheduled=*/true});
    cases.push_back({"elements", target, "bf16", 1, kElements, "generic"});
    cases.push_back({"elements", target, "bf16", 4096, kElements, "generic"});
  }
  return cases;
}

class FormKernel : public testing::TestWithParam<FormCase> {
protected:
  void SetUp() override {
    static const auto images = std::make_shared<const ImageCompiler>(cache::Store::ofUser());
    if (Result<const Nvrtc *> nvrtc = images->nvrtc(); !nvrtc)
      GTEST_SKIP() << nvrtc.error().text();
    options.images = images;
    options.target = GetParam().target;
    if (GetParam().isScheduled)
      options.schedule = {{"form", GetParam().form}};
    driver::loadDialects(context);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  driver::CompileOptions options;
};

TEST_P(FormKernel, Compiles) {
  Diagnostics diagnostics;
  std::optional<Spec> spec =
      parseSpec(context, "form.json", specOf(GetParam()).dump(), {}, diagnostics);
  ASSERT_TRUE(spec);
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation) << compilation.error().text();
  EXPECT_EQ(compilation->nests.back().form, GetParam().form);
  for (const KernelDecl &kernel : compilation->program.manifest.kernels)
    EXPECT_TRUE(compilation->program.findImage(kernel.image, ImageKind::Cubin)) << kernel.name;
}

INSTANTIATE_TEST_SUITE_P(Forms, FormKernel, testing::ValuesIn(formCases()));

} // namespace
} // namespace attnc::e2e
