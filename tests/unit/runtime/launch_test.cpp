#include "runtime/program/launch.h"

#include "tests/unit/runtime/example_manifest.h"

#include <gtest/gtest.h>

#include <vector>

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

// Each has a slot of its own behind the intermediates, and is told from other addresses.
TEST(Launch, CountersLieInTheWorkspace) {
  Manifest manifest = exampleManifest();
  VariantDecl &variant = manifest.variants[0]; // two launches, with partial and flags
  variant.launches[0].args.push_back(ArgDecl::counter());
  variant.launches[1].args.insert(variant.launches[1].args.begin(),
                                  {ArgDecl::counter(), ArgDecl::counter()});
  Binding bound = binding(3, 200);
  Workspace workspace = *planWorkspace(manifest, variant, bound);
  EXPECT_EQ(workspace.counters, (std::vector<std::int64_t>{512, 516, 520}));
  EXPECT_EQ(workspace.bytes, 768);
  std::vector<char> memory(768, 0x7f);
  auto calls = evaluate(manifest, variant, bound, workspace, memory.data());
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 2u);
  EXPECT_EQ((*calls)[0].counters, (std::vector<std::size_t>{(*calls)[0].args.size() - 1}));
  EXPECT_EQ((*calls)[0].args.back(), ArgValue(static_cast<void *>(memory.data() + 512)));
  EXPECT_EQ((*calls)[1].counters, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ((*calls)[1].args[1], ArgValue(static_cast<void *>(memory.data() + 520)));
  EXPECT_FALSE(leavesCountersClear((*calls)[1]));
  clearCounters((*calls)[1]);
  EXPECT_TRUE(leavesCountersClear((*calls)[1]));
  for (std::size_t i = 0; i < memory.size(); ++i) {
    bool cleared = i >= 516 && i < 524;
    ASSERT_EQ(memory[i], cleared ? 0 : 0x7f) << i;
  }
}

// Where they are all that the workspace holds, its address can be added later.
TEST(Launch, CountersWithoutAWorkspaceAreOffsets) {
  Manifest manifest = exampleManifest();
  VariantDecl &variant = manifest.variants[1];
  variant.launches[0].args = {ArgDecl::counter(), ArgDecl::pointer("q"), ArgDecl::counter()};
  Binding bound = binding(3, 100);
  Workspace workspace = *planWorkspace(manifest, variant, bound);
  EXPECT_TRUE(workspace.offsets.empty());
  EXPECT_EQ(workspace.bytes, 256);
  auto calls = evaluate(manifest, variant, bound, workspace, nullptr);
  ASSERT_TRUE(calls) << calls.error().message;
  auto at = [](std::uintptr_t address) { return ArgValue(reinterpret_cast<void *>(address)); };
  EXPECT_EQ((*calls)[0].args, (std::vector<ArgValue>{at(0), at(0x1000), at(4)}));
  EXPECT_EQ(evaluate(manifest, variant, bound, {}, nullptr).error().message,
            "argument 0 of kernel fold: a counter has no place in the workspace");
}

TEST(Launch, ALoopLaunchesOncePerPass) {
  Manifest manifest = exampleManifest();
  VariantDecl &variant = manifest.variants[0];
  Expr pass = Expr::let("p");
  variant.loops = {{"p", Expr::size("b"), 0, 1}}; // around fold, not merge
  variant.launches[0].grid[0] = Expr::apply(ExprOp::Add, {pass, Expr::constant(1)});
  variant.launches[0].args = {ArgDecl::pointer("q"), ArgDecl::value(pass, DType::I32),
                              ArgDecl::counter()};
  variant.launches[0].args[0].offset = Expr::apply(
      ExprOp::Mul, {pass, Expr::apply(ExprOp::Mul, {Expr::size("h"), Expr::constant(12)})});
  ASSERT_TRUE(checkManifest(manifest));
  Binding bound = binding(3, 200); // b = 2, h = 4, 48 elements for each
  Workspace workspace = *planWorkspace(manifest, variant, bound);
  EXPECT_EQ(workspace.counters, (std::vector<std::int64_t>{512, 516})); // one for each pass
  auto calls = evaluate(manifest, variant, bound, workspace, nullptr);
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 3u);
  auto at = [](std::uintptr_t address) { return ArgValue(reinterpret_cast<void *>(address)); };
  EXPECT_EQ((*calls)[0].args, (std::vector<ArgValue>{at(0x1000), std::int32_t(0), at(512)}));
  EXPECT_EQ((*calls)[1].args, (std::vector<ArgValue>{at(0x10c0), std::int32_t(1), at(516)}));
  EXPECT_EQ((*calls)[1].grid[0], 2);
  EXPECT_EQ((*calls)[2].kernel, "merge");
  bound.scope.sizes["b"] = 0;
  EXPECT_EQ(evaluate(manifest, variant, bound, workspace, nullptr)->size(), 1u);
  bound.scope.sizes["b"] = 3; // the tensor has two
  EXPECT_EQ(evaluate(manifest, variant, bound, *planWorkspace(manifest, variant, bound), nullptr)
                .error()
                .message,
            "argument 0 of kernel fold: offset 96 lies outside q, which spans 96 elements");
  bound.scope.sizes["b"] = 65537;
  EXPECT_EQ(planWorkspace(manifest, variant, bound).error().message,
            "loop over p: it has 65537 passes, at most 65536 are possible");
  bound.scope.sizes["b"] = 65536;
  variant.loops[0].launches = 17;
  variant.launches.resize(18, variant.launches[0]);
  EXPECT_EQ(planWorkspace(manifest, variant, bound).error().message,
            "loops make more than 1048576 launches of a call");
}

TEST(Launch, AGuardIsReadBeforeTheCall) {
  Manifest manifest = exampleManifest();
  manifest.target = "cpu";
  manifest.intermediates.push_back({"flag", DType::I32, {}});
  VariantDecl &variant = manifest.variants[1];
  variant.launches[0].guard = "flag";
  ASSERT_TRUE(checkManifest(manifest));
  Binding bound = binding(3, 5);
  Workspace workspace = *planWorkspace(manifest, variant, bound);
  EXPECT_EQ(workspace.offsets, (std::map<std::string, std::int64_t>{{"flag", 0}}));
  alignas(256) std::int32_t memory[64] = {0};
  auto calls = evaluate(manifest, variant, bound, workspace, memory);
  ASSERT_TRUE(calls) << calls.error().message;
  EXPECT_EQ((*calls)[0].guard, memory);
  EXPECT_FALSE(guardHolds((*calls)[0]));
  memory[0] = -1;
  EXPECT_TRUE(guardHolds((*calls)[0]));
  EXPECT_TRUE(guardHolds({"fold", {1, 1, 1}, 0, {}}));
}

TEST(Launch, AnEmptyGridIsNotLaunched) {
  Manifest manifest = exampleManifest();
  manifest.variants[1].launches[0].grid[0] = Expr::size("t");
  Binding bound = binding(3, 0);
  auto calls = evaluate(manifest, manifest.variants[1], bound, {}, nullptr);
  ASSERT_TRUE(calls) << calls.error().message;
  EXPECT_TRUE(calls->empty());
}

TEST(Launch, ALaunchIsBesideTheOneBeforeItAlone) {
  Manifest manifest = exampleManifest();
  VariantDecl variant = manifest.variants[0]; // fold, merge
  variant.launches.push_back(variant.launches[1]);
  variant.launches[1].beside = variant.launches[2].beside = true;
  auto besides = [&](const Binding &bound) {
    std::vector<bool> found;
    Workspace workspace = *planWorkspace(manifest, variant, bound);
    for (const PlannedCall &call : *planCalls(manifest, variant, bound, workspace))
      found.push_back(call.beside);
    return found;
  };
  EXPECT_EQ(besides(binding(3, 200)), (std::vector<bool>{false, true, true}));
  variant.launches[1].grid[0] = Expr::constant(0); // the one before the last is left out
  EXPECT_EQ(besides(binding(3, 200)), (std::vector<bool>{false, false}));
  variant.launches[0].grid[0] = Expr::constant(0);
  EXPECT_EQ(besides(binding(3, 200)), (std::vector<bool>{false}));
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

TEST(Launch, TensorMapsDescribeBoundTensorsAndIntermediates) {
  Manifest manifest = exampleManifest();
  VariantDecl &variant = manifest.variants[1];
  variant.launches[0].args = {ArgDecl::tensorMap("k", {4, 64, 1, 1}),
                              ArgDecl::tensorMap("partial", {4, 8, 1}, 0)};
  Binding bound = binding(3, 100); // t = 2
  Workspace workspace = *planWorkspace(manifest, variant, bound);
  EXPECT_EQ(workspace.offsets, (std::map<std::string, std::int64_t>{{"partial", 0}}));
  auto *base = reinterpret_cast<char *>(0x10000);
  auto calls = evaluate(manifest, variant, bound, workspace, base);
  ASSERT_TRUE(calls) << calls.error().message;
  std::vector<ArgValue> expected = {
      TensorMapArg{bound.tensors["k"].data,
                   DType::F32,
                   {4, 100, 2, 2},
                   {16, 1600, 3200},
                   {4, 64, 1, 1},
                   128},
      TensorMapArg{base, DType::F32, {4, 3, 2}, {16, 48}, {4, 8, 1}, 0}};
  EXPECT_EQ((*calls)[0].args, expected);
  bound.tensors["k"].strides[2] = 5;
  EXPECT_EQ(evaluate(manifest, variant, bound, workspace, base).error().message,
            "argument 0 of kernel fold: k: the stride of dim j is 5 elements (20 bytes), not a "
            "multiple of 16 bytes");
}

TEST(Launch, OfAWindowThereIsAsMuchAsItCounts) {
  Manifest manifest = exampleManifest();
  manifest.intermediates[0].dims = {"b", "h", "i", "d"};
  manifest.intermediates[0].window = WindowDecl{2, Expr::constant(3)};
  VariantDecl &variant = manifest.variants[1];
  variant.launches[0].args = {ArgDecl::tensorMap("partial", {4, 8, 1, 1}, 0)};
  Binding bound = binding(3, 100); // b = 2
  bound.scope.sizes["i"] = 40;
  Workspace workspace = *planWorkspace(manifest, variant, bound);
  EXPECT_EQ(workspace.bytes, 2048); // 3 * 40 * 16 = 1920
  auto *base = reinterpret_cast<char *>(0x10000);
  auto calls = evaluate(manifest, variant, bound, workspace, base);
  ASSERT_TRUE(calls) << calls.error().message;
  constexpr std::int64_t anyStride = 16; // of an axis with one index
  EXPECT_EQ((*calls)[0].args,
            (std::vector<ArgValue>{TensorMapArg{
                base, DType::F32, {4, 40, 3, 1}, {16, 640, anyStride}, {4, 8, 1, 1}, 0}}));
}

TEST(Launch, KernelsSeePaddedRowsOfIntermediates) {
  Manifest manifest = exampleManifest();
  manifest.intermediates[0].align = 16; // partial: f32[t, i, d]
  VariantDecl &variant = manifest.variants[1];
  variant.launches[0].args = {ArgDecl::pointer("partial"), ArgDecl::stride("partial", 0),
                              ArgDecl::stride("partial", 1), ArgDecl::stride("partial", 2),
                              ArgDecl::tensorMap("partial", {4, 8, 1}, 0)};
  Binding bound = binding(3, 100); // t = 2
  bound.scope.sizes["d"] = 5;      // rows of 20 bytes in 32
  Workspace workspace = *planWorkspace(manifest, variant, bound);
  EXPECT_EQ(workspace.bytes, 256); // 2 * 3 * 32 = 192
  auto *base = reinterpret_cast<char *>(0x10000);
  auto calls = evaluate(manifest, variant, bound, workspace, base);
  ASSERT_TRUE(calls) << calls.error().message;
  std::vector<ArgValue> expected = {
      static_cast<void *>(base), std::int64_t(24), std::int64_t(8), std::int64_t(1),
      TensorMapArg{base, DType::F32, {5, 3, 2}, {32, 96}, {4, 8, 1}, 0}};
  EXPECT_EQ((*calls)[0].args, expected);
  bound.scope.sizes["i"] = 5; // 2 * 5 * 32 = 320 bytes, where contiguous rows have 200
  EXPECT_EQ(planWorkspace(manifest, variant, bound)->bytes, 512);
}

TEST(Launch, GridsMayDependOnTheMultiprocessors) {
  Manifest manifest = exampleManifest();
  VariantDecl &variant = manifest.variants[1];
  variant.launches[0].grid = {
      Expr::apply(ExprOp::Min, {Expr::size("i"), Expr::apply(ExprOp::Multiprocessors, {})}),
      Expr::constant(1), Expr::constant(1)};
  Binding bound = binding(500, 5);
  EXPECT_EQ(evaluate(manifest, variant, bound, {}, nullptr).error().message,
            "grid of kernel fold: the number of multiprocessors is unknown here");
  bound.scope.multiprocessors = 132;
  EXPECT_EQ((*evaluate(manifest, variant, bound, {}, nullptr))[0].grid[0], 132);
}

TEST(Launch, AVariantWithinTheBudgetComesFirst) {
  Manifest manifest = exampleManifest();
  Binding bound = binding(3, 200); // 208 bytes of intermediates in variant 0, none in variant 1
  auto chosen = [&](std::int64_t budget) {
    bound.memoryBudget = budget;
    return *chooseVariant(manifest, bound) - manifest.variants.data();
  };
  EXPECT_EQ(chosen(1 << 20), 0);
  EXPECT_EQ(chosen(100), 1);
  manifest.variants[1].when = Expr::constant(0);
  EXPECT_EQ(chosen(100), 0); // and planWorkspace says what is too much
  EXPECT_FALSE(planWorkspace(manifest, manifest.variants[0], bound));
}

TEST(Launch, ExtentsMayDependOnTheMultiprocessors) {
  Manifest manifest = exampleManifest();
  Expr count = Expr::apply(ExprOp::Multiprocessors, {});
  manifest.dims[6].extent = Expr::apply(ExprOp::FloorDiv, {count, Expr::size("i")});
  manifest.variants[0].when = Expr::apply(ExprOp::Ge, {Expr::size("t"), Expr::constant(2)});
  ASSERT_TRUE(checkManifest(manifest));
  auto chosen = [&](std::int64_t rows) {
    Binding bound = binding(rows, 100);
    bound.scope.sizes.erase("t");
    EXPECT_TRUE(addMachineSizes(manifest, bound.scope, 132));
    EXPECT_EQ(bound.scope.sizes["t"], 132 / rows);
    return *chooseVariant(manifest, bound) - manifest.variants.data();
  };
  EXPECT_EQ(chosen(66), 0);
  EXPECT_EQ(chosen(67), 1);
  manifest.dims[6].min = 1;
  Binding bound = binding(200, 100);
  EXPECT_EQ(addMachineSizes(manifest, bound.scope, 132).error().message,
            "dim t is 0, but must be at least 1");
}

TEST(Launch, AGridIsAWholeNumberOfClusters) {
  Manifest manifest = exampleManifest();
  VariantDecl &variant = manifest.variants[1];
  manifest.kernels[0].cluster = 2;
  EXPECT_TRUE(evaluate(manifest, variant, binding(65, 5), {}, nullptr)); // 2 blocks in x
  EXPECT_EQ(evaluate(manifest, variant, binding(129, 5), {}, nullptr).error().message,
            "kernel fold: 3 blocks in x are no multiple of its cluster of 2");
}

/// Two variants for any sizes: the first for aligned q and k, the second for aligned q alone.
Manifest alignedVariants() {
  Manifest manifest = exampleManifest();
  manifest.variants = {manifest.variants[1], manifest.variants[1]};
  manifest.variants[0].aligned = {{"q", 16}, {"k", 16}, {"partial", 16}};
  manifest.variants[1].aligned = {{"q", 16}};
  return manifest;
}

TEST(Launch, TheFirstVariantThatAlignmentAllowsIsChosen) {
  Manifest manifest = alignedVariants();
  Binding bound = binding(3, 5);
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[0]);
  bound.tensors["k"].strides[2] = 6;
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[1]);
  bound.tensors["k"].shape[2] = 1; // then its stride does not matter
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[0]);
  bound.tensors["k"].data = reinterpret_cast<void *>(0x2008);
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[1]);
  bound.tensors["k"].shape[2] = 0; // nor the address of nothing
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[0]);
  manifest.variants[0].when = Expr::constant(0);
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[1]);
}

TEST(Launch, AnIntermediateIsAsAlignedAsItsRows) {
  Manifest manifest = exampleManifest();
  manifest.variants = {manifest.variants[1], manifest.variants[1]};
  manifest.variants[0].aligned = {{"partial", 16}}; // f32[t, i, d]
  Binding bound = binding(3, 200);
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[0]);
  bound.scope.sizes["d"] = 5;
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[1]);
  manifest.intermediates[0].align = 16;
  EXPECT_EQ(*chooseVariant(manifest, bound), &manifest.variants[0]);
}

TEST(Launch, WhereOnlyAlignmentIsInTheWayTheErrorSaysWhatToChange) {
  Manifest manifest = alignedVariants();
  Binding bound = binding(3, 5);
  bound.tensors["q"].strides[1] = 14;
  bound.tensors["k"].strides[2] = 6; // which the last variant could take
  Result<const VariantDecl *> none = chooseVariant(manifest, bound);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "q: the stride of dim h is 14 elements (56 bytes), not a multiple of 16 bytes");
  EXPECT_EQ(none.error().remedy,
            "pad the rows of q to multiples of 4 elements, or pass a copy so padded");
  manifest.variants[0].when = manifest.variants[1].when = Expr::constant(0);
  EXPECT_EQ(chooseVariant(manifest, bound).error().message,
            "no variant of example serves these sizes and params");
}

TEST(Launch, CudaGridLimits) {
  EXPECT_TRUE(checkCudaGrid("fold", {INT32_MAX, 65535, 65535}));
  EXPECT_EQ(checkCudaGrid("fold", {1, 1, 65536}).error().message,
            "kernel fold: the grid has 65536 blocks in z, CUDA allows 65535");
  EXPECT_FALSE(checkCudaGrid("fold", {std::int64_t(1) << 31, 1, 1}));
}

} // namespace
