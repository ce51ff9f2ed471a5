#include "tests/e2e/variant.h"
#include "compiler/evaluator/float64/host_expression.h"
#include "kernels_spec/library.h"
#include "tools/attnc/input/target.h"

#include <filesystem>
#include <fmt/format.h>

namespace attnc::e2e {

// Generated from tests/e2e/specs by cmake/embed.py.
namespace further {
std::vector<std::pair<std::string_view, std::string_view>> files();
}

const std::vector<Lengths> lengthPairs = {{1, 17},    {17, 1},   {63, 64},    {64, 65},   {65, 127},
                                          {127, 129}, {129, 63}, {300, 1000}, {1000, 300}};

std::vector<std::string> specNames() {
  std::vector<std::string> names;
  for (const LibrarySpec &spec : library())
    names.push_back(spec.name);
  return names;
}

std::vector<std::string> furtherSpecNames() {
  std::vector<std::string> names;
  for (auto [path, text] : further::files())
    names.push_back(std::filesystem::path(path).stem().string());
  return names;
}

std::vector<std::string> specNamesForLargeLogits() {
  std::vector<std::string> names = specNames();
  llvm::append_range(names, furtherSpecNames());
  llvm::erase(names, "exponential_features");
  return names;
}

/// The text of a spec of either set; empty if there is none.
static std::string_view textOf(const std::string &name) {
  if (const LibrarySpec *spec = findInLibrary(name))
    return spec->text;
  for (auto [path, text] : further::files())
    if (std::filesystem::path(path).stem() == name)
      return text;
  return {};
}

/// Static extents below a library spec's own, where those would take minutes at the lengths of
/// these tests: small ones that the same forms of kernels are chosen for. For ffpa that is more
/// than the 256 columns of one product of Hopper's tensor cores.
static std::map<std::string, std::string> smallExtents(llvm::StringRef name) {
  static const std::map<std::string, std::map<std::string, std::string>, std::less<>> extents = {
      {"entropy", {{"d", "16"}, {"e", "24"}}},
      {"ipa", {{"d", "4"}, {"e", "4"}, {"c", "5"}, {"p", "2"}, {"r", "2"}}},
      {"ipa_frames", {{"d", "4"}, {"e", "4"}, {"p", "2"}, {"r", "2"}}},
      {"linear", {{"d", "16"}, {"e", "24"}}},
      {"linear_causal", {{"d", "16"}, {"e", "24"}}},
      {"mla", {{"c", "64"}, {"r", "16"}}},
      {"nystrom", {{"d", "8"}, {"e", "8"}, {"m", "4"}}},
      {"nystrom_conv", {{"d", "8"}, {"e", "8"}, {"m", "4"}, {"w", "5"}}}};
  if (name.starts_with("ffpa"))
    return {{"d", "264"}, {"e", "264"}};
  auto found = extents.find(name);
  return found == extents.end() ? std::map<std::string, std::string>{} : found->second;
}

LoadedSpec::LoadedSpec(const std::string &name, std::map<std::string, std::string> set)
    : context(std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED)) {
  driver::loadDialects(*context);
  Diagnostics diagnostics;
  set.merge(smallExtents(name)); // what is set already stays
  spec = parseSpec(*context, name + ".json", textOf(name), Overrides{set}, diagnostics,
                   libraryBases());
  std::string text;
  llvm::raw_string_ostream stream(text);
  diagnostics.render(stream, false);
  EXPECT_TRUE(spec) << text;
}

Extents LoadedSpec::extents(Lengths lengths) const {
  Extents reference;
  for (const auto &[dim, extent] : spec->reference.at("shape").items())
    reference[dim] = extent.get<int64_t>();
  Extents extents = reference;
  for (auto [dim, length] : {std::pair("i", lengths.queries), std::pair("j", lengths.keys)})
    if (extents.contains(dim))
      extents[dim] = length;
  if (extents.contains("b") && lengths.queries * lengths.keys > 20000)
    extents["b"] = 1;
  return admits(extents) ? extents : reference;
}

bool LoadedSpec::admits(const Extents &extents) const {
  Scope scope{extents, {}, {}};
  attn::ProgramOp program = driver::programOf(*spec);
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (dim.isStatic())
      scope.sizes[dim.getName().str()] = dim.getExtent();
  for (auto require : program.getBodyBlock()->getOps<attn::RequireOp>()) {
    Result<Expr> fact = hostExpression(require.getCondition());
    Result<Scalar> holds = fact ? evaluate(*fact, scope) : Result<Scalar>(fact.error());
    EXPECT_TRUE(holds.ok()) << holds.error().text();
    if (!holds || !isTrue(*holds))
      return false;
  }
  return true;
}

std::string Setting::name() const {
  std::string text = spec;
  for (const auto &[key, value] : set)
    text += "_" + key + value;
  return text;
}

Result<std::unique_ptr<driver::Executor>> makeExecutor(const Spec &spec,
                                                       std::shared_ptr<const CudaDevice> device,
                                                       const nlohmann::json &schedule) {
  driver::CompileOptions options;
  options.schedule = schedule;
  if (device) {
    options.target = cli::targetOf(device->properties());
    options.images = std::make_shared<ImageCompiler>();
  }
  Result<driver::Compilation> compilation = driver::compile(spec, options);
  if (!compilation)
    return compilation.error();
  return driver::makeExecutor(*compilation, std::move(device));
}

Result<std::shared_ptr<const CudaDevice>> openGpu() {
  if (Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::open(); !nvrtc)
    return nvrtc.error();
  Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(0);
  if (!device)
    return device.error();
  if (cli::targetOf((*device)->properties()).empty())
    return environmentError("the GPU is older than every target");
  return std::shared_ptr<const CudaDevice>(std::move(*device));
}

static void expectChecks(const Spec &spec, const driver::Executor &executor,
                         const driver::CheckRequest &request, bool decidesAll) {
  Result<driver::CheckReport> report = driver::checkProgram(spec, executor, request);
  std::string shape;
  for (const auto &[dim, extent] : request.extents)
    shape += fmt::format(" {}={}", dim, extent);
  ASSERT_TRUE(report.ok()) << spec.name << shape << ": " << report.error().text();
  EXPECT_FALSE(report->outputs.empty());
  for (const driver::OutputCheck &check : report->outputs) {
    // A bound of infinity would let anything pass.
    if (decidesAll)
      EXPECT_EQ(check.compared.undecided, 0) << spec.name << shape;
    // Bounds that are wide beside a small result still show what exceeds them.
    EXPECT_NE(check.verdict(), driver::Verdict::Failed)
        << spec.name << shape << ": " << check.why();
  }
}

std::vector<driver::TensorLayout> unalignedLayouts() {
  return {{.offset = 1, .padding = 0}, {.offset = 0, .padding = 3}, {.offset = 5, .padding = 1}};
}

void expectCorrect(const Spec &spec, const driver::Executor &executor, const Extents &extents,
                   const driver::TensorLayout &layout) {
  driver::CheckRequest request;
  request.extents = extents;
  request.layout = layout;
  expectChecks(spec, executor, request, true);
}

void expectNothingWrong(const Spec &spec, const driver::Executor &executor,
                        const Extents &extents) {
  driver::CheckRequest request;
  request.extents = extents;
  expectChecks(spec, executor, request, false);
}

void expectCorrectOnAdversarialInputs(const Spec &spec, const driver::Executor &executor,
                                      const Extents &extents) {
  using evaluator::InputKind;
  driver::CheckRequest request;
  request.extents = extents;
  request.kinds = {InputKind::LargeLogits, InputKind::AscendingMaxima, InputKind::InfiniteBias,
                   InputKind::FiniteMask};
  expectChecks(spec, executor, request, false);
}

void expectSameBits(const Spec &spec, const driver::Executor &executor, const Extents &extents) {
  auto inputs = evaluator::makeInputs(driver::programOf(spec), extents, /*seed=*/1);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  driver::RunRequest request = driver::runRequest(executor.manifest(), *inputs);
  Result<driver::RunResult> first = executor.run(request);
  ASSERT_TRUE(first.ok()) << first.error().text();
  for (int run = 0; run < 9; ++run) {
    Result<driver::RunResult> again = executor.run(request);
    ASSERT_TRUE(again.ok()) << again.error().text();
    for (const auto &[name, tensor] : first->outputs)
      EXPECT_EQ(tensor.data, again->outputs.at(name).data) << spec.name << " " << name;
  }
}

void expectFloat32Accuracy(const Spec &spec, const driver::Executor &executor,
                           const Extents &extents) {
  driver::CheckRequest request;
  request.extents = extents;
  request.kinds = {evaluator::InputKind::Random};
  Result<driver::CheckReport> report = driver::checkProgram(spec, executor, request);
  ASSERT_TRUE(report.ok()) << report.error().text();
  for (const driver::OutputCheck &output : report->outputs)
    EXPECT_LE(output.compared.rmsError, 0x1p-18 * output.compared.rmsReference) << output.output;
}

} // namespace attnc::e2e
