#include "runtime/program/launch.h"

#include "tests/unit/runtime/example_manifest.h"

#include <gtest/gtest.h>

using namespace attnc;

namespace {

/// A Binding with i rows and j keys; launches only look at it, so any addresses will do.
Binding binding(std::int64_t i, std::int64_t j) {
  Binding result;
  result.scope.sizes = {{"b", 2}, {"h", 4}, {"hk", 2},           {"i", i},
                        {"j", j}, {"d", 4}, {"t", (j + 63) / 64}};
  result.scope.lets = {{"g", Scalar(std::int64_t(2))}};
  result.scope.params = {{"scale", Scalar(0.5)}, {"window", Scalar(std::int64_t(8))}};
  auto at = [](std::uintptr_t address) { return reinterpret_cast<void *>(address); };
  result.tensors["q"] = TensorRef::contiguous(at(0x1000), DType::F32, {2, 4, i, 4});
  result.tensors["k"] = TensorRef::contiguous(at(0x2000), DType::F32, {2, 2, j, 4});
  result.tensors["o"] = TensorRef::contiguous(at(0x3000), DType::F32, {2, 4, i, 4});
  return result;
}

TEST(Launch, ArgumentsAndGridAreEvaluated) {
  Manifest manifest = exampleManifest();
  Binding bound = binding(65, 100);
  const VariantDecl *variant = *chooseVariant(manifest, bound);
  EXPECT_EQ(variant, &manifest.variants[1]);
  Workspace workspace = *planWorkspace(manifest, *variant, bound);
  EXPECT_EQ(workspace.bytes, 0); // this variant uses no intermediate
  auto calls = evaluate(manifest, *variant, bound, workspace, nullptr);
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 1u);
  const KernelCall &call = (*calls)[0];
  EXPECT_EQ(call.kernel, "fold");
  EXPECT_EQ(call.grid, (std::array<std::int64_t, 3>{2, 4, 2}));
  EXPECT_EQ(call.sharedBytes, 1024);
  std::vector<ArgValue> expected = {reinterpret_cast<void *>(0x1000),
                                    std::int64_t(400),
                                    std::int64_t(100),
                                    0.5f,
                                    std::int32_t(8),
                                    std::int32_t(2),
                                    reinterpret_cast<void *>(0x3000)};
  EXPECT_EQ(call.args, expected);
}

TEST(Launch, IntermediatesLieInTheWorkspace) {
  Manifest manifest = exampleManifest();
  Binding bound = binding(3, 200); // t = 4: partial has 4 * 3 * 4 floats, flags 4 bytes
  const VariantDecl *variant = *chooseVariant(manifest, bound);
  EXPECT_EQ(variant, &manifest.variants[0]);
  Workspace workspace = *planWorkspace(manifest, *variant, bound);
  EXPECT_EQ(workspace.offsets,
            (std::map<std::string, std::int64_t>{{"partial", 0}, {"flags", 256}}));
  EXPECT_EQ(workspace.bytes, 512);
  char *base = reinterpret_cast<char *>(0x10000);
  auto calls = evaluate(manifest, *variant, bound, workspace, base);
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 2u);
  EXPECT_EQ((*calls)[0].args.back(), ArgValue(static_cast<void *>(base)));
  std::vector<ArgValue> expected = {static_cast<void *>(base), std::int64_t(12),
                                    static_cast<void *>(base + 256),
                                    reinterpret_cast<void *>(0x3000)};
  EXPECT_EQ((*calls)[1].args, expected);
  EXPECT_EQ((*calls)[1].sharedBytes, 12);
}

TEST(Launch, AnEmptyGridIsNotLaunched) {
  Manifest manifest = exampleManifest();
  manifest.variants[1].launches[0].grid[0] = Expr::size("t");
  Binding bound = binding(3, 0);
  auto calls = evaluate(manifest, manifest.variants[1], bound, {}, nullptr);
  ASSERT_TRUE(calls) << calls.error().message;
  EXPECT_TRUE(calls->empty());
}

TEST(Launch, ErrorsNameTheKernelAndTheArgument) {
  Manifest manifest = exampleManifest();
  Binding bound = binding(3, 5);
  auto errorWith = [&](ArgDecl arg) {
    manifest.variants[1].launches[0].args[0] = std::move(arg);
    return evaluate(manifest, manifest.variants[1], bound, {}, nullptr).error().message;
  };
  EXPECT_EQ(errorWith(ArgDecl::value(Expr::constant(std::int64_t(1) << 40), DType::I32)),
            "argument 0 of kernel fold: 1099511627776 does not fit in i32");
  EXPECT_EQ(errorWith(ArgDecl::value(Expr::constant(0.5), DType::I64)),
            "argument 0 of kernel fold: 0.5 is not an integer, but is passed as i64");
  EXPECT_EQ(errorWith(ArgDecl::pointer("partial")),
            "argument 0 of kernel fold: partial has no place in the workspace");
  manifest.variants[1].launches[0].grid[1] = Expr::constant(-1);
  EXPECT_EQ(evaluate(manifest, manifest.variants[1], bound, {}, nullptr).error().message,
            "kernel fold: grid extent 1 is -1");
}

TEST(Launch, SizesThatNoVariantServesAreAnError) {
  Manifest manifest = exampleManifest();
  manifest.variants.pop_back();
  EXPECT_EQ(chooseVariant(manifest, binding(3, 5)).error().message,
            "no variant of example serves these sizes and params");
}

TEST(Launch, CudaGridLimits) {
  EXPECT_TRUE(checkCudaGrid({"fold", {INT32_MAX, 65535, 65535}, 0, {}}));
  EXPECT_EQ(checkCudaGrid({"fold", {1, 1, 65536}, 0, {}}).error().message,
            "kernel fold: the grid has 65536 blocks in z, CUDA allows 65535");
  EXPECT_FALSE(checkCudaGrid({"fold", {std::int64_t(1) << 31, 1, 1}, 0, {}}));
}

} // namespace
