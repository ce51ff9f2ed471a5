// The variant that folds streams in parts: when it is launched, with how many parts, and what it
// computes.
#include "compiler/driver/compile.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "runtime/program/launch.h"
#include "tests/e2e/variant.h"
#include "tools/attnc/input/target.h"

namespace attnc::e2e {
namespace {

using driver::Compilation;

class Parts : public testing::TestWithParam<std::string> {
protected:
  Result<Compilation> compile(const Spec &spec, nlohmann::json schedule = {}) {
    driver::CompileOptions options;
    options.target = GetParam();
    options.upTo = driver::Stage::Tile;
    options.parts = driver::SplitVariant::OnFirstUse;
    options.schedule = std::move(schedule);
    return driver::compile(spec, options);
  }
};

/// The parts of the stream on a GPU of 132 multiprocessors where the variant in parts is chosen; 1
/// where the other one is.
std::int64_t partsAt(const Manifest &manifest, std::map<std::string, std::int64_t> sizes) {
  Scope scope{std::move(sizes), {}, {}};
  EXPECT_TRUE(addMachineSizes(manifest, scope, 132));
  Result<Scalar> inParts = evaluate(*manifest.variants[0].when, scope);
  EXPECT_TRUE(inParts) << inParts.error().text();
  return isTrue(*inParts) ? scope.sizes.at("j_part") : 1;
}

TEST_P(Parts, FillTheGpu) {
  LoadedSpec spec("full", {{"d", "128"}, {"e", "128"}});
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compile(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  const Manifest &manifest = compilation->program.manifest;
  auto parts = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    return partsAt(manifest, {{"b", b}, {"h", h}, {"i", i}, {"j", j}, {"d", 128}, {"e", 128}});
  };
  // A few queries: as many parts as there is room for blocks, but none shorter than 1024; without
  // warpgroups up to 16 of 128.
  bool hasWarpgroups = GetParam() == std::string("sm_90a");
  EXPECT_GE(parts(1, 32, 1, 32768), 4);
  EXPECT_LE(parts(1, 32, 1, 32768), 8);
  EXPECT_EQ(parts(1, 1, 1, 32768), 32);
  EXPECT_EQ(parts(1, 1, 1, 4096), hasWarpgroups ? 4 : 16);
  EXPECT_EQ(parts(1, 1, 1, 2048), hasWarpgroups ? 2 : 16);
  EXPECT_EQ(parts(1, 1, 1, 1024), hasWarpgroups ? 1 : 8);
  // Short streams and rows enough are folded in one pass.
  EXPECT_EQ(parts(1, 1, 1, hasWarpgroups ? 2047 : 511), 1);
  EXPECT_EQ(parts(4, 32, 4096, 4096), 1);
  EXPECT_EQ(parts(1, 264, 1, 32768), 1);
  EXPECT_EQ(parts(1, 0, 1, 32768), 32); // nothing to do, and no division by it
}

// A persistent kernel has a limit of row tiles, of which there are some in each part.
TEST_P(Parts, AreNotNeededByRequirements) {
  LoadedSpec spec("causal");
  ASSERT_TRUE(spec);
  auto compilation = compile(*spec, {{"fold", "two_pass"}, {"splits", "auto"}});
  ASSERT_TRUE(compilation) << compilation.error().text();
  const Manifest &manifest = compilation->program.manifest;
  EXPECT_EQ(manifest.requires_.empty(), GetParam() != "sm_90a");
  for (std::int64_t sequences : {1, 1 << 22})
    for (const RequireDecl &require : manifest.requires_) {
      Scope scope{
          {{"b", sequences}, {"h", 16}, {"i", 4096}, {"j", 4096}, {"d", 64}, {"e", 64}}, {}, {}};
      Result<Scalar> holds = evaluate(require.expr, scope);
      ASSERT_TRUE(holds) << holds.error().text();
      EXPECT_EQ(isTrue(*holds), sequences == 1) << require.text;
    }
}

// Two passes over the same stream: one of 48 blocks, one of 512. And their merges, of which one has
// results with different inner dims.
TEST_P(Parts, AreOfEachPassAndMergedByThreads) {
  LoadedSpec spec("ipa", {{"c", "128"}});
  ASSERT_TRUE(spec);
  auto compilation = compile(*spec, {{"fold", "two_pass"}, {"splits", "auto"}});
  ASSERT_TRUE(compilation) << compilation.error().text();
  Scope scope{{{"b", 1},
               {"i", 512},
               {"h", 12},
               {"j", 512},
               {"d", 16},
               {"e", 16},
               {"c", 128},
               {"p", 4},
               {"x", 3},
               {"r", 8},
               {"r_x", 24}},
              {},
              {}};
  ASSERT_TRUE(addMachineSizes(compilation->program.manifest, scope, 132));
  EXPECT_EQ(scope.sizes.at("j_part"), 4);
  EXPECT_EQ(scope.sizes.at("j_part_2"), 1);
  size_t merges = 0;
  for (const driver::NestReport &nest : compilation->nests)
    if (llvm::is_contained(nest.stream, "j_part") || llvm::is_contained(nest.stream, "j_part_2")) {
      EXPECT_EQ(nest.form, "generic") << nest.kernel;
      ++merges;
    }
  EXPECT_EQ(merges, 2u);
}

TEST_P(Parts, AreWhatTheScheduleSays) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  auto variants = [&](nlohmann::json schedule) {
    Result<Compilation> compilation = compile(*spec, std::move(schedule));
    EXPECT_TRUE(compilation) << compilation.error().text();
    return compilation && !compilation->variants.empty() ? compilation->variants[0].nests.size()
                                                         : 0;
  };
  EXPECT_EQ(variants({}), 2U); // the parts, and their merge
  EXPECT_EQ(variants({{"fold", "auto"}}), 2U);
  EXPECT_EQ(variants({{"fold", "one_pass"}}), 0U);
  EXPECT_EQ(variants({{"fold", "two_pass"}}), 0U); // all launches are in parts
  auto inParts = compile(*spec, {{"fold", "two_pass"}, {"splits", "auto"}});
  ASSERT_TRUE(inParts) << inParts.error().text();
  EXPECT_TRUE(std::any_of(inParts->program.manifest.dims.begin(),
                          inParts->program.manifest.dims.end(), Manifest::isOfMachine));
  EXPECT_EQ(compile(*spec, {{"splits", 1}}).error().message,
            "schedule: splits is 1; it can be \"auto\" or a whole number from 2 to 128");
  EXPECT_EQ(compile(*spec, {{"fold", "parts"}}).error().message,
            "schedule: fold is \"parts\"; it can be \"auto\", \"one_pass\" or \"two_pass\"");
  EXPECT_EQ(compile(*spec, {{"fold", "stream"}}).error().message,
            "schedule: fold \"stream\" is called \"one_pass\"");
  // What is chosen for one program is not for another.
  EXPECT_EQ(variants({{"stream_tile", 64}, {"form", "portable"}}), 0U);
}

TEST_P(Parts, MergeToTheResult) {
  for (const char *name : {"full", "causal_bottom_right", "entropy_by_xlogy"}) {
    SCOPED_TRACE(name);
    LoadedSpec spec(name);
    ASSERT_TRUE(spec);
    Result<Compilation> compilation = compile(*spec);
    ASSERT_TRUE(compilation) << compilation.error().text();
    ASSERT_FALSE(compilation->variants.empty());
    auto executor = driver::makeInterpreterExecutor(*compilation, {{0, 1}, 8});
    ASSERT_TRUE(executor) << executor.error().text();
    Extents extents = spec.extents({3, 2100});
    extents["b"] = extents["h"] = 1;
    ASSERT_EQ(partsAt(compilation->program.manifest, extents),
              GetParam() == std::string("sm_90a") ? 2 : 16);
    expectCorrect(*spec, **executor, extents);
  }
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

/// Queries whose heads share key heads, the last of which sees the last key.
const std::string kGroupedCausal = R"json({
    "attnc": 1, "name": "last_sees_all", "types": {"T": "bf16"}, "dims": {"d": 64, "e": 64},
    "let": {"g": "size(h) // size(hk)"}, "require": ["size(h) % size(hk) == 0"],
    "inputs": {"q": "T[b, h, i, d]", "k": "T[b, hk, j, d]", "v": "T[b, hk, j, e]"},
    "body": ["s = sum(d, q[b,h,i,d] * k[b,h//g,j,d]) / 8.0",
             "p = softmax(j, where(j - size(j) <= i - size(i), s, -inf))",
             "o[b,h,i,e] = sum(j, p * v[b,h//g,j,e])"],
    "outputs": {"o": "T"}})json";

Result<Compilation> compileForFewRows(const Spec &spec) {
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  options.parts = driver::SplitVariant::OnFirstUse;
  return driver::compile(spec, options);
}

/// The parts of the stream on a GPU of so many multiprocessors where a variant for few rows is
/// chosen; 0 where none is.
std::int64_t packedPartsAt(const Manifest &manifest, std::map<std::string, std::int64_t> sizes,
                           std::int64_t multiprocessors = 132) {
  Scope scope{std::move(sizes), {}, {}};
  EXPECT_TRUE(addMachineSizes(manifest, scope, multiprocessors));
  for (const VariantDecl &variant : manifest.variants) {
    Result<Scalar> isChosen =
        variant.when ? evaluate(*variant.when, scope) : Scalar(std::int64_t(1));
    EXPECT_TRUE(isChosen) << isChosen.error().text();
    if (!isTrue(*isChosen))
      continue;
    const std::string &kernel = variant.launches.front().kernel;
    std::int64_t parts = scope.sizes.at("j_part");
    EXPECT_EQ(kernel.starts_with("packed_split_"), kernel.starts_with("packed_") && parts > 1);
    return kernel.starts_with("packed_") ? parts : 0;
  }
  return 0;
}

TEST(FewRows, ArePackedWhereHeadsShareKeys) {
  LoadedSpec spec("gqa", {{"d", "128"}, {"e", "128"}});
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileForFewRows(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  ASSERT_EQ(compilation->variants.size(), 6U); // in parts, packed, both; three for short sequences
  const Manifest &manifest = compilation->program.manifest;
  auto parts = [&](std::int64_t b, std::int64_t h, std::int64_t hk, std::int64_t i,
                   std::int64_t j) {
    return packedPartsAt(
        manifest, {{"b", b}, {"h", h}, {"hk", hk}, {"i", i}, {"j", j}, {"d", 128}, {"e", 128}});
  };
  // A block for each key head, and as many parts as blocks fit beside each other.
  EXPECT_EQ(parts(1, 32, 8, 1, 8192), 16);
  EXPECT_EQ(parts(1, 32, 8, 1, 131072), 16);
  EXPECT_EQ(parts(1, 32, 8, 16, 8192), 16);
  // Blocks that nearly fill the GPU have all keys.
  EXPECT_EQ(parts(16, 32, 8, 1, 8192), 1);
  // A second round of few blocks would leave most of it idle.
  EXPECT_EQ(parts(20, 32, 8, 1, 8192), 3);
  EXPECT_EQ(parts(128, 32, 8, 1, 8192), 1);
  // Parts are not short.
  EXPECT_EQ(parts(1, 32, 8, 1, 1024), 4);
  EXPECT_EQ(parts(1, 32, 8, 1, 511), 1);
  // More rows, and heads with keys of their own, are for the other variants.
  EXPECT_EQ(parts(1, 32, 8, 17, 8192), 0);
  EXPECT_EQ(parts(1, 32, 32, 1, 8192), 0);
  EXPECT_EQ(parts(1, 0, 8, 1, 8192), 0);
}

TEST(FewRows, OfProgramsWithoutSharedKeysAreNotPacked) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileForFewRows(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  EXPECT_EQ(compilation->variants.size(), 5U); // in parts; four for short sequences
}

/// `keys` are the extents that say that there are so many keys.
using Keys = std::function<Extents(std::int64_t)>;
Extents keysOfRows(std::int64_t count) { return {{"j", count + 3}}; }
Extents keysOfPages(std::int64_t count) { return {{"j", count}, {"w", count / 16}, {"n", 40}}; }

void expectPackedIsCorrect(const Spec &spec, std::int64_t multiprocessors,
                           const Keys &keys = keysOfRows) {
  Result<Compilation> compilation = compileForFewRows(spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  auto executor = driver::makeInterpreterExecutor(*compilation, {{0, 1}, multiprocessors});
  ASSERT_TRUE(executor) << executor.error().text();
  struct Heads {
    std::int64_t queries, keys;
  };
  for (Heads heads : {Heads{2, 1}, {3, 1}, {8, 2}, {8, 1}, {10, 1}})
    for (std::int64_t rows : {1, 3, 16}) {
      Extents extents = {{"b", 1}, {"h", heads.queries}, {"hk", heads.keys}, {"i", rows}};
      extents.merge(keys(528 + 48 * rows));
      SCOPED_TRACE(testing::Message() << heads.queries << "/" << heads.keys << " heads, " << rows
                                      << " rows, " << multiprocessors << " multiprocessors");
      ASSERT_GT(packedPartsAt(compilation->program.manifest, extents, multiprocessors), 0);
      expectCorrect(spec, **executor, extents);
    }
}

TEST(FewRows, AreCorrect) {
  LoadedSpec spec("gqa");
  ASSERT_TRUE(spec);
  for (std::int64_t multiprocessors : {1, 8}) // mostly in one pass, and in parts
    expectPackedIsCorrect(*spec, multiprocessors);
}

// Keys that a table names come row by row.
TEST(FewRows, OfPagesAreCorrect) {
  LoadedSpec spec("paged");
  ASSERT_TRUE(spec);
  for (std::int64_t multiprocessors : {1, 8})
    expectPackedIsCorrect(*spec, multiprocessors, keysOfPages);
}

TEST(FewRows, SeeWhatTheMaskLeaves) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<attnc::Spec> spec =
      parseSpec(context, "last_sees_all.json", kGroupedCausal, {}, diagnostics);
  ASSERT_TRUE(spec);
  expectPackedIsCorrect(*spec, 8);
}

Result<Compilation> compileFor(const CudaDevice &gpu, const Spec &spec) {
  driver::CompileOptions options;
  options.target = cli::targetOf(gpu.properties());
  options.images = std::make_shared<ImageCompiler>();
  options.parts = driver::SplitVariant::OnFirstUse;
  return driver::compile(spec, options);
}

// One query, many keys.
TEST(GpuSplits, MergeToTheResult) {
  Result<std::shared_ptr<const CudaDevice>> gpu = openGpu();
  if (!gpu)
    GTEST_SKIP() << gpu.error().text();
  LoadedSpec spec("full", {{"d", "128"}, {"e", "128"}});
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileFor(**gpu, *spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  ASSERT_FALSE(compilation->variants.empty());
  auto executor = driver::makeExecutor(*compilation, *gpu);
  ASSERT_TRUE(executor) << executor.error().text();
  for (std::int64_t keys : {2048, 4100, 9001})
    for (std::int64_t heads : {1, 5}) {
      Extents extents = {{"b", 1}, {"h", heads}, {"i", 1}, {"j", keys}};
      ASSERT_GE(partsAt(compilation->program.manifest, extents), 2);
      expectCorrect(*spec, **executor, extents);
      expectSameBits(*spec, **executor, extents);
    }
}

// One query to 16, on key heads that query heads share.
TEST(GpuFewRows, AreCorrect) {
  Result<std::shared_ptr<const CudaDevice>> gpu = openGpu();
  if (!gpu)
    GTEST_SKIP() << gpu.error().text();
  LoadedSpec spec("gqa", {{"d", "128"}, {"e", "128"}});
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileFor(**gpu, *spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  auto executor = driver::makeExecutor(*compilation, *gpu);
  ASSERT_TRUE(executor) << executor.error().text();
  struct Case {
    std::int64_t batches, sharing, rows, keys;
  };
  // In parts, in parts for several rounds of blocks, and in one pass.
  for (Case c : {Case{1, 2, 1, 2100},
                 {1, 3, 5, 2100},
                 {1, 4, 16, 9000},
                 {1, 10, 16, 2100},
                 {70, 3, 1, 700},
                 {140, 2, 5, 300},
                 {140, 4, 1, 300}}) {
    Extents extents = {
        {"b", c.batches}, {"h", 2 * c.sharing}, {"hk", 2}, {"i", c.rows}, {"j", c.keys}};
    SCOPED_TRACE(testing::Message()
                 << c.batches << " batches, " << c.sharing << " heads, " << c.rows << " rows");
    expectCorrect(*spec, **executor, extents);
    expectSameBits(*spec, **executor, extents);
  }
}

// Each of the many kernels asks something of the sizes, and the variant in parts asks all of it.
TEST_P(Parts, OfManyKernelsAskInExpressionsThatAreRead) {
  const std::string text = R"json({
    "attnc": 1, "name": "potentials", "types": {"T": "f16"}, "dims": {"d": 16, "e": 16},
    "inputs": {"q": "T[i, d]", "k": "T[j, d]", "v": "T[j, e]"},
    "body": ["s = sum(d, q[i,d] * k[j,d])", "f = sum(d, q[i,d]) * 0.0", "g = sum(d, k[j,d]) * 0.0",
             {"repeat": 100, "carry": ["f", "g"],
              "body": ["f = -logsumexp(j, s + g)", "g = -logsumexp(i, s + f)"]},
             "o[i,e] = sum(j, exp(s + f + g) * v[j,e])"],
    "outputs": {"o": "T"}})json";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<attnc::Spec> spec = parseSpec(context, "potentials.json", text, {}, diagnostics);
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compile(*spec);
  ASSERT_TRUE(compilation) << compilation.error().text();
  Result<Manifest> read = parseManifest(printManifest(compilation->program.manifest));
  EXPECT_TRUE(read) << read.error().text();
}

// What the program in parts computes as the other one does is in one image.
TEST(SplitImages, ServeBothPrograms) {
  LoadedSpec spec("documents");
  ASSERT_TRUE(spec);
  auto images = std::make_shared<const ImageCompiler>();
  if (Result<const Nvrtc *> nvrtc = images->nvrtc(); !nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  driver::CompileOptions options;
  options.target = "sm_80";
  options.images = images;
  options.parts = driver::SplitVariant::Built;
  Result<Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation) << compilation.error().text();
  int shared = 0;
  for (const KernelDecl &kernel : compilation->program.manifest.kernels) {
    EXPECT_TRUE(compilation->program.findImage(kernel.image, ImageKind::Cubin)) << kernel.name;
    shared += kernel.name.starts_with("split_") && !kernel.image.starts_with("split_");
  }
  EXPECT_EQ(shared, 2); // the extrema of tiles of both tensors of ids
}

INSTANTIATE_TEST_SUITE_P(Targets, Parts, testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace attnc::e2e
