// The kernels of the library compile for every GPU target without spills and without the notes of
// ptxas that mean a slow kernel, and are those of the golden table. Needs NVRTC, not a GPU.
#include "compiler/driver/compile.h"
#include "tests/e2e/kernels/golden_table.h"
#include "tests/e2e/kernels/launch_faults.h"
#include "tests/e2e/kernels/ptx_counts.h"
#include "tests/e2e/variant.h"
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

namespace attnc {
namespace {

struct KernelCase {
  std::string spec, target, type;
  int width;

  /// The name of its row in the table of the target.
  std::string row() const { return fmt::format("{} {} {}", spec, type, width); }
};

std::ostream &operator<<(std::ostream &os, const KernelCase &c) {
  return os << c.row() << " " << c.target;
}

/// A row is one kernel of 64 or 128 columns in a form with tiles, and takes seconds of NVRTC. Of
/// the others the table of nests says what they become.
bool hasRow(llvm::StringRef spec) {
  static const std::set<llvm::StringRef> others = {
      "column_sums", "differential", "differential_norm", "documents", "entropy",
      "evoformer",   "ipa",          "ipa_frames",        "linear",    "linear_causal",
      "mla",         "nystrom",      "nystrom_conv",      "ragged",    "sink"};
  return !others.contains(spec) && !spec.starts_with("ffpa") && !spec.starts_with("elsa");
}

std::vector<KernelCase> kernelCases() {
  std::vector<KernelCase> cases;
  for (const std::string &spec : e2e::specNames()) {
    if (!hasRow(spec))
      continue;
    cases.push_back({spec, "sm_80", "bf16", 64});
    for (int width : {64, 128})
      cases.push_back({spec, "sm_90a", "bf16", width});
  }
  for (int width : {16, 40, 96, 128, 192, 256})
    for (const char *type : {"f16", "f32"})
      cases.push_back({"causal", "sm_90a", type, width});
  for (const char *spec : {"bias", "causal", "full", "softcap"})
    cases.push_back({spec, "sm_90a", "bf16", 256});
  // Columns that groups, blocks or warps divide.
  for (int width : {320, 512, 640, 1024})
    for (const char *target : {"sm_80", "sm_90a"})
      cases.push_back({"causal", target, "f16", width});
  return cases;
}

/// What the tests look at.
struct CompiledKernel {
  std::string whyNot; ///< why there is no NVRTC; empty: compiled, if it has no error
  std::string error;
  std::vector<std::string> passedOver;
  std::string nvrtc;
  std::optional<KernelResources> resources;
  int repeats = 0;
  std::vector<std::string> ptxasNotes, launchFaults;
  e2e::GoldenRow row;
};

/// Without a cache: what is tested is what NVRTC makes. Null: there is no NVRTC.
std::shared_ptr<const ImageCompiler> imagesOfProcess(std::string &whyNot) {
  static const auto images = std::make_shared<const ImageCompiler>();
  Result<const Nvrtc *> opened = images->nvrtc();
  if (!opened)
    whyNot = opened.error().text();
  return opened ? images : nullptr;
}

void describe(const driver::Compilation &compilation, CompiledKernel &kernel) {
  const driver::NestReport &nest = compilation.nests[0];
  kernel.passedOver = nest.passedOver;
  kernel.resources = nest.resources;
  kernel.ptxasNotes = nest.ptxasNotes;
  kernel.row.form = nest.form;
  if (nest.resources) {
    kernel.row.registers = nest.resources->registers;
    kernel.row.spillBytes = nest.resources->spillLoads + nest.resources->spillStores;
  }
  for (const KernelDecl &decl : compilation.program.manifest.kernels)
    if (decl.name == nest.kernel) {
      kernel.row.threads = decl.threads;
      kernel.row.sharedBytes = static_cast<int>(decl.sharedBytes.integer);
    }
  if (const Image *image = compilation.program.findImage(nest.kernel, ImageKind::Ptx)) {
    kernel.row.ptx = e2e::countInstructions(image->bytes);
    kernel.nvrtc = e2e::ptxCompiler(image->bytes);
  }
  kernel.launchFaults = e2e::launchFaults(compilation.program);
}

CompiledKernel compileKernel(const KernelCase &c) {
  CompiledKernel kernel;
  driver::CompileOptions options;
  options.target = c.target;
  options.images = imagesOfProcess(kernel.whyNot);
  if (!options.images)
    return kernel;
  e2e::LoadedSpec spec(
      c.spec, {{"T", c.type}, {"d", std::to_string(c.width)}, {"e", std::to_string(c.width)}});
  if (!spec) {
    kernel.error = "the spec has errors";
    return kernel;
  }
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  if (!compilation)
    kernel.error = compilation.error().text();
  else if (compilation->nests.size() != 1)
    kernel.error = fmt::format("{} nests instead of one", compilation->nests.size());
  else
    describe(*compilation, kernel);
  if (compilation)
    kernel.repeats = compilation->repeats;
  return kernel;
}

/// Each case is compiled once, whichever test comes first.
class LibraryKernel : public testing::TestWithParam<KernelCase> {
protected:
  void SetUp() override {
    static std::map<std::string, CompiledKernel> known;
    const KernelCase &c = GetParam();
    auto [entry, isNew] = known.try_emplace(c.target + " " + c.row());
    if (isNew)
      entry->second = compileKernel(c);
    kernel = &entry->second;
    if (!kernel->whyNot.empty())
      GTEST_SKIP() << kernel->whyNot;
    ASSERT_EQ(kernel->error, "");
  }

  const CompiledKernel *kernel = nullptr;
};

std::string expectedForm(const KernelCase &c) {
  return c.target == "sm_90a" ? "warpgroups" : "portable";
}

TEST_P(LibraryKernel, HasNoSpillsAndNoSerialisedProducts) {
  const KernelCase &c = GetParam();
  EXPECT_EQ(kernel->row.form, expectedForm(c)) << testing::PrintToString(kernel->passedOver);
  ASSERT_TRUE(kernel->resources);
  EXPECT_EQ(kernel->resources->spillStores, 0);
  EXPECT_EQ(kernel->resources->spillLoads, 0);
  EXPECT_EQ(kernel->resources->stackBytes, 0);
  EXPECT_TRUE(kernel->ptxasNotes.empty()) << kernel->ptxasNotes[0];
}

// What a schedule needs is known before ptxas says so: no kernel is compiled twice.
TEST_P(LibraryKernel, IsCompiledOnce) {
  if (GetParam().type == "bf16" && GetParam().width == 64)
    EXPECT_EQ(kernel->repeats, 0);
}

// The whole back of the pipeline runs again, from the steps of a row tile on.
TEST(SpillingKernel, IsLoweredAgainWithASmallerSchedule) {
  std::string whyNot;
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.images = imagesOfProcess(whyNot);
  if (!options.images)
    GTEST_SKIP() << whyNot;
  e2e::LoadedSpec spec("boolean_mask");
  ASSERT_TRUE(spec);
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation) << compilation.error().text();
  EXPECT_GE(compilation->repeats, 1);
  EXPECT_EQ(compilation->nests[0].resources->spillStores, 0);
}

// Who launches the PTX by its .launch.json passes what the kernels take.
TEST_P(LibraryKernel, IsDescribedAsItsPtxDeclaresIt) {
  EXPECT_EQ(kernel->launchFaults, std::vector<std::string>{});
}

void writeRow(const KernelCase &c, const CompiledKernel &kernel) {
  static std::map<std::string, e2e::GoldenTable> tables;
  tables[c.target].set(c.row(), kernel.row, kernel.nvrtc);
  std::filesystem::path path = e2e::GoldenTable::destination() / ("kernels_" + c.target + ".json");
  std::ofstream file(path);
  file << tables[c.target].text();
  ASSERT_TRUE(file.flush()) << path;
}

TEST_P(LibraryKernel, IsThatOfTheGoldenTable) {
  const KernelCase &c = GetParam();
  if (!e2e::GoldenTable::destination().empty())
    return writeRow(c, *kernel);
  e2e::GoldenTable table = e2e::GoldenTable::ofRepository(c.target);
  std::vector<std::string> list = table.differences(c.row(), kernel->row, kernel->nvrtc);
  EXPECT_TRUE(list.empty()) << c.row() << " for " << c.target << ", before -> now:\n  "
                            << fmt::format("{}", fmt::join(list, "\n  "))
                            << "\nIf that is meant: ./dev golden writes the table anew; commit it "
                               "with the change that it shows.";
}

TEST(GoldenTables, HaveNoOtherRows) {
  if (!e2e::GoldenTable::destination().empty())
    GTEST_SKIP() << "they are being written";
  std::map<std::string, std::set<std::string>> rows;
  for (const KernelCase &c : kernelCases())
    rows[c.target].insert(c.row());
  for (const auto &[target, names] : rows)
    for (const std::string &row : e2e::GoldenTable::ofRepository(target).kernels())
      EXPECT_TRUE(names.contains(row))
          << row << " for " << target << " is no case: ./dev golden writes the table anew";
}

INSTANTIATE_TEST_SUITE_P(Targets, LibraryKernel, testing::ValuesIn(kernelCases()));

} // namespace
} // namespace attnc
