// What serves tensors that are not aligned: the manifest's variants on copies, and the layouts with
// which the other tests put it to use.
#include "compiler/driver/compile.h"
#include "compiler/driver/execution/guarded_memory.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "tests/e2e/variant.h"

#include <set>

namespace attnc::e2e {
namespace {

using driver::Compilation;
using driver::TensorLayout;

Result<Compilation> compileFor(const Spec &spec, const std::string &target,
                               std::shared_ptr<const ImageCompiler> images = nullptr) {
  driver::CompileOptions options;
  options.target = target;
  options.upTo = images ? driver::Stage::Cubin : driver::Stage::Tile;
  options.images = std::move(images);
  return driver::compile(spec, options);
}

/// The kernels of a variant in order.
std::vector<std::string> launched(const VariantDecl &variant) {
  std::vector<std::string> names;
  for (const LaunchDecl &launch : variant.launches)
    names.push_back(launch.kernel);
  return names;
}

/// The tensors that a launch is about.
std::set<std::string> tensorsOf(const LaunchDecl &launch) {
  std::set<std::string> names;
  for (const ArgDecl &arg : launch.args)
    if (arg.kind == ArgKind::Pointer || arg.kind == ArgKind::Stride ||
        arg.kind == ArgKind::TensorMap)
      names.insert(arg.name);
  return names;
}

using Names = std::vector<std::string>;
using NameSet = std::set<std::string>;

TEST(AlignedCopies, UnalignedTensorsHaveAVariantThatCopiesThem) {
  LoadedSpec spec("bias");
  ASSERT_TRUE(spec);
  Result<Compilation> compilation = compileFor(*spec, "sm_90a");
  ASSERT_TRUE(compilation) << compilation.error().text();
  const Manifest &manifest = compilation->program.manifest;
  ASSERT_EQ(manifest.variants.size(), 3U);
  const VariantDecl &direct = manifest.variants[0], &onOne = manifest.variants[1],
                    &onCopies = manifest.variants[2];
  EXPECT_EQ(direct.aligned, (std::map<std::string, std::int64_t>{
                                {"q", 16}, {"k", 16}, {"v", 16}, {"bias", 16}, {"o", 16}}));
  // Rows of the bias may have any length; those of the others are multiples of 16 bytes.
  EXPECT_EQ(onOne.aligned,
            (std::map<std::string, std::int64_t>{{"q", 16}, {"k", 16}, {"v", 16}, {"o", 16}}));
  EXPECT_EQ(launched(onOne), (Names{"align_bias", "bias_o"}));
  EXPECT_EQ(tensorsOf(onOne.launches[1]), (NameSet{"q", "k", "v", "bias_aligned", "o"}));
  EXPECT_TRUE(onCopies.aligned.empty());
  EXPECT_EQ(launched(direct), Names{"bias_o"});
  EXPECT_EQ(launched(onCopies),
            (Names{"align_q", "align_k", "align_v", "align_bias", "bias_o", "unalign_o"}));
  EXPECT_EQ(tensorsOf(direct.launches[0]), (NameSet{"q", "k", "v", "bias", "o"}));
  EXPECT_EQ(tensorsOf(onCopies.launches[0]), (NameSet{"q", "q_aligned"}));
  EXPECT_EQ(tensorsOf(onCopies.launches[4]),
            (NameSet{"q_aligned", "k_aligned", "v_aligned", "bias_aligned", "o_aligned"}));
  EXPECT_EQ(tensorsOf(onCopies.launches[5]), (NameSet{"o_aligned", "o"}));
  for (const auto *group : {&manifest.inputs, &manifest.outputs})
    for (const TensorDecl &tensor : *group)
      EXPECT_EQ(tensor.align, 0) << tensor.name;
  for (const TensorDecl &tensor : manifest.intermediates)
    EXPECT_EQ(tensor.align, 16) << tensor.name;
}

TEST(AlignedCopies, KernelsThatNeedNoAlignmentHaveOneVariant) {
  LoadedSpec spec("full", {{"d", "20"}, {"e", "20"}, {"T", "f16"}});
  ASSERT_TRUE(spec);
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.upTo = driver::Stage::Tile;
  options.schedule = {{"form", "generic"}};
  Result<Compilation> compilation = driver::compile(*spec, options);
  ASSERT_TRUE(compilation) << compilation.error().text();
  EXPECT_EQ(compilation->program.manifest.variants.size(), 1U);
  EXPECT_TRUE(compilation->copies.tensors.empty());
}

class AlignedCopiesOf : public testing::Test {
protected:
  AlignedCopiesOf() { driver::loadDialects(context); }

  /// Compiles `text` and runs it on tensors that are not aligned.
  Compilation compileAndRun(const char *text, const Extents &extents) {
    Diagnostics diagnostics;
    std::optional<Spec> spec = parseSpec(context, "spec.json", text, {}, diagnostics);
    std::string said;
    llvm::raw_string_ostream stream(said);
    diagnostics.render(stream, false);
    EXPECT_TRUE(spec) << said;
    if (!spec)
      return {};
    Result<Compilation> compilation = compileFor(*spec, "sm_90a");
    EXPECT_TRUE(compilation) << compilation.error().text();
    if (!compilation)
      return {};
    auto executor = driver::makeInterpreterExecutor(*compilation);
    EXPECT_TRUE(executor) << executor.error().text();
    if (executor)
      expectCorrect(*spec, **executor, extents, {.offset = 1, .padding = 1});
    return *std::move(compilation);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

TEST_F(AlignedCopiesOf, TakenNamesAreNumbered) {
  Compilation compilation = compileAndRun(R"spec({
    "attnc": 1, "name": "unalign", "types": {"T": "bf16"}, "dims": {"d": 64, "e": 64},
    "inputs": {"q": "T[b,h,i,d]", "q_aligned": "T[b,h,j,d]", "v": "T[b,h,j,e]"},
    "body": ["s = sum(d, q[b,h,i,d] * q_aligned[b,h,j,d])",
             "p = softmax(j, s)",
             "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"],
    "outputs": {"o": "T"},
    "reference": {"shape": {"b": 1, "h": 2, "i": 33, "j": 41}}
  })spec",
                                          {{"b", 1}, {"h", 2}, {"i", 33}, {"j", 41}});
  const driver::AlignedCopies &copies = compilation.copies;
  ASSERT_EQ(copies.tensors.size(), 4U);
  EXPECT_EQ(copies.find("q")->standIn, "q_aligned_2");
  EXPECT_EQ(copies.find("q_aligned")->standIn, "q_aligned_aligned");
  EXPECT_EQ(copies.find("o")->kernel.name, "unalign_o_2"); // unalign_o computes o
}

// A bias of six axes has no tensor map, so the kernel reads its elements.
TEST_F(AlignedCopiesOf, WhatIsReadByElementsIsNotCopied) {
  Compilation compilation = compileAndRun(R"spec({
    "attnc": 1, "name": "six", "types": {"T": "bf16"},
    "dims": {"d": 64, "e": 64, "x": 2, "y": 1, "z": 1},
    "inputs": {"q": "T[x,i,d]", "k": "T[x,j,d]", "v": "T[x,j,e]", "w": "T[b,x,y,z,i,j]"},
    "body": ["s = sum(d, q[x,i,d] * k[x,j,d]) + w[0,x,0,0,i,j]",
             "p = softmax(j, s)",
             "o[x,i,e] = sum(j, p * v[x,j,e])"],
    "outputs": {"o": "T"},
    "reference": {"shape": {"b": 1, "i": 33, "j": 41}}
  })spec",
                                          {{"b", 1}, {"i", 33}, {"j", 41}});
  ASSERT_EQ(compilation.nests.size(), 1U);
  EXPECT_EQ(compilation.nests[0].form, "warpgroups");
  EXPECT_EQ(compilation.copies.tensors.size(), 4U);
  EXPECT_EQ(compilation.copies.find("w"), nullptr);
}

// One image for all kernels that copy, in which each is found.
TEST(AlignedCopies, TheProgramHoldsTheKernels) {
  auto images = std::make_shared<const ImageCompiler>();
  if (Result<const Nvrtc *> nvrtc = images->nvrtc(); !nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  LoadedSpec spec("gqa");
  ASSERT_TRUE(spec);
  for (const char *target : {"sm_80", "sm_90a"}) {
    Result<Compilation> compilation = compileFor(*spec, target, images);
    ASSERT_TRUE(compilation) << compilation.error().text();
    const Program &program = compilation->program;
    EXPECT_EQ(program.images.size(), 4U); // a cubin and a PTX of the nest and of the copies
    ASSERT_FALSE(compilation->copies.tensors.empty());
    const Image *ptx = program.findImage(compilation->copies.image, ImageKind::Ptx);
    ASSERT_NE(ptx, nullptr);
    for (const driver::AlignedCopy &copy : compilation->copies.tensors) {
      EXPECT_NE(ptx->bytes.find(".entry " + copy.kernel.name + "("), std::string::npos);
      const KernelDecl *kernel = program.manifest.findKernel(copy.kernel.name);
      ASSERT_TRUE(kernel && kernel->resources) << copy.kernel.name;
      EXPECT_EQ(kernel->image, compilation->copies.image);
      EXPECT_EQ(kernel->resources->spillStores + kernel->resources->stackBytes, 0);
    }
    Result<std::string> bytes = serializeProgram(program);
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_TRUE(deserializeProgram(*bytes));
  }
}

TEST(TensorLayout, PlacesElementsAndFindsWritesBetweenThem) {
  const std::vector<std::int64_t> shape = {2, 3, 4};
  TensorLayout layout{.offset = 5, .padding = 3};
  std::vector<std::byte> elements(2 * 24);
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<std::byte>(i);
  std::vector<std::byte> block(layout.blockBytes(DType::BF16, shape),
                               std::byte{driver::poisonByte});
  ASSERT_EQ(block.size(), 2U * (5 + 6 * 7));
  layout.scatter(elements.data(), DType::BF16, shape, block.data());
  TensorRef view = layout.at(block.data(), DType::BF16, shape);
  EXPECT_EQ(view.strides, (std::vector<std::int64_t>{21, 7, 1}));
  auto *first = static_cast<std::byte *>(view.data);
  EXPECT_EQ(first, block.data() + 10);
  EXPECT_EQ(first[2 * (21 + 2 * 7 + 3)], elements[2 * 23]);
  EXPECT_EQ(layout.gather(block.data(), DType::BF16, shape), elements);
  EXPECT_TRUE(layout.checkGaps("t", block.data(), DType::BF16, shape));
  for (size_t gap : {size_t(0), size_t(9), size_t(10 + 8), block.size() - 1}) {
    std::vector<std::byte> damaged = block;
    damaged[gap] = std::byte{0};
    EXPECT_FALSE(layout.checkGaps("t", damaged.data(), DType::BF16, shape)) << gap;
  }
}

} // namespace
} // namespace attnc::e2e
