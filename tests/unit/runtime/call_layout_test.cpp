#include "runtime/program/call_layout.h"
#include "runtime/program/layout_cache.h"

#include "tests/unit/runtime/example_manifest.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace attnc;

namespace {

void *at(std::uintptr_t address) { return reinterpret_cast<void *>(address); }

/// As `bind` leaves it, with three rows of queries and `j` keys.
Binding binding(std::int64_t j) {
  Binding result;
  result.scope.sizes = {{"b", 2}, {"h", 4}, {"hk", 2},           {"i", 3},
                        {"j", j}, {"d", 4}, {"t", (j + 63) / 64}};
  result.scope.lets = {{"g", Scalar(std::int64_t(2))}};
  result.scope.params = {{"scale", Scalar(0.5)}, {"window", Scalar(std::int64_t(8))}};
  result.tensors["q"] = TensorRef::contiguous(at(0x10000), DType::F32, {2, 4, 3, 4});
  result.tensors["k"] = TensorRef::contiguous(at(0x20000), DType::F32, {2, 2, j, 4});
  result.tensors["o"] = TensorRef::contiguous(at(0x30000), DType::F32, {2, 4, 3, 4});
  return result;
}

/// The words of a layout with addresses in them.
std::vector<std::uint64_t> wordsAt(const CallLayout &layout, std::span<void *const> tensors,
                                   void *workspace) {
  std::vector<std::uint64_t> words = layout.words;
  patchWords(layout.ofTensors, tensors, workspace, words);
  patchWords(layout.ofWorkspace, tensors, workspace, words);
  if (!layout.ofCounters.empty())
    patchWords(layout.ofCounters, tensors,
               static_cast<char *>(workspace) + layout.workspace.counters.front(), words);
  return words;
}

template <typename T> std::uint64_t wordOf(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

// What a layout gives at other addresses is what evaluating everything there gives.
TEST(CallLayout, GivesWhatEvaluationGivesAtAnyAddresses) {
  Manifest manifest = exampleManifest();
  VariantDecl &variant = manifest.variants[0];
  variant.loops = {{"p", Expr::size("b"), 0, 1}};
  variant.launches[0].args[0].offset =
      Expr::apply(ExprOp::Mul, {Expr::let("p"), Expr::constant(48)});
  variant.launches[0].args.push_back(ArgDecl::counter());
  ASSERT_TRUE(checkManifest(manifest));
  Result<CallLayout> layout = planLayout(manifest, binding(200));
  ASSERT_TRUE(layout) << layout.error().message;
  Binding elsewhere = binding(200);
  std::uintptr_t address = 0x500000;
  for (auto &[name, tensor] : elsewhere.tensors)
    tensor.data = at(address += 0x10000);
  void *workspace = at(0x900000);
  auto calls = evaluate(manifest, variant, elsewhere, layout->workspace, workspace);
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 3u);
  std::vector<std::uint64_t> expected;
  for (const KernelCall &call : *calls)
    for (const ArgValue &value : call.args)
      std::visit(
          [&](const auto &number) {
            if constexpr (!std::is_same_v<decltype(number), const TensorMapArg &>)
              expected.push_back(wordOf(number));
          },
          value);
  EXPECT_EQ(wordsAt(*layout, addressesOf(manifest, elsewhere), workspace), expected);
  ASSERT_EQ(layout->calls.size(), 3u);
  for (std::size_t number = 0; number < 3; ++number) {
    EXPECT_EQ(manifest.kernels[layout->calls[number].kernel].name, (*calls)[number].kernel);
    EXPECT_EQ(layout->calls[number].grid, (*calls)[number].grid);
    EXPECT_EQ(layout->calls[number].sharedBytes, (*calls)[number].sharedBytes);
  }
}

/// What checkAddresses says of q, k and o there, in the layout of `binding(5)`.
std::string saidOf(const Manifest &manifest, std::array<void *, 3> tensors) {
  Result<CallLayout> layout = planLayout(manifest, binding(5));
  EXPECT_TRUE(layout) << layout.error().message;
  Status status = checkAddresses(*layout, tensors);
  return status ? "" : status.error().message;
}

TEST(CallLayout, AddressesAreCheckedAtEachCall) {
  Manifest manifest = exampleManifest(); // k is declared to be aligned to 16; q has 384 bytes
  EXPECT_EQ(saidOf(manifest, {at(0x1004), at(0x2010), at(0x3004)}), "");
  EXPECT_EQ(saidOf(manifest, {at(0x1004), at(0x1010), at(0x3004)}), ""); // inputs may overlap
  EXPECT_EQ(saidOf(manifest, {nullptr, at(0x2010), at(0x3004)}), "q: its data pointer is null");
  EXPECT_EQ(saidOf(manifest, {at(0x1002), at(0x2010), at(0x3004)}),
            "q: its address is 2 bytes past a multiple of 4");
  EXPECT_EQ(saidOf(manifest, {at(0x1004), at(0x2014), at(0x3004)}),
            "k: its address is 4 bytes past a multiple of 16");
  EXPECT_EQ(saidOf(manifest, {at(0x1000), at(0x2010), at(0x117c)}),
            "output o overlaps input q in memory");
  EXPECT_EQ(saidOf(manifest, {at(0x1000), at(0x2010), at(0x1180)}), ""); // right behind q
  EXPECT_EQ(saidOf(manifest, {at(0x1180), at(0x2010), at(0x1004)}),
            "output o overlaps input q in memory");
}

TEST(CallLayout, AddressesMustBeAsAlignedAsTheVariantThatWasChosen) {
  Manifest manifest = exampleManifest();
  manifest.variants = {manifest.variants[1], manifest.variants[1]};
  manifest.variants[0].aligned = {{"q", 16}};
  manifest.variants[0].launches[0].args[0] = ArgDecl::tensorMap("k", {4, 64, 1, 1});
  EXPECT_EQ(saidOf(manifest, {at(0x1010), at(0x2010), at(0x3004)}), "");
  EXPECT_EQ(saidOf(manifest, {at(0x1004), at(0x2010), at(0x3004)}),
            "q: its address is 4 bytes past a multiple of 16");
  manifest.inputs[1].align = 0; // the map still needs 16
  EXPECT_EQ(saidOf(manifest, {at(0x1010), at(0x2008), at(0x3004)}),
            "k: its address is 8 bytes past a multiple of 16");
}

// As the parts of one packed array do: their ranges meet, their elements do not.
TEST(CallLayout, OutputsMayInterleaveWithInputs) {
  Manifest manifest = exampleManifest();
  Binding packed = binding(5);
  for (const char *name : {"q", "o"}) {
    packed.tensors[name].strides = {128, 32, 8, 1};
    packed.tensors[name].data = at(name == std::string("q") ? 0x1000 : 0x1010);
  }
  Result<CallLayout> layout = planLayout(manifest, packed);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_TRUE(checkAddresses(*layout, std::array{at(0x5000), at(0x9000), at(0x5010)}));
  EXPECT_FALSE(checkAddresses(*layout, std::array{at(0x5000), at(0x9000), at(0x5008)}));
}

TEST(CallLayout, AnEmptyTensorMayBeAnywhere) {
  Manifest manifest = exampleManifest();
  Binding empty = binding(0);
  empty.tensors["k"].data = nullptr;
  Result<CallLayout> layout = planLayout(manifest, empty);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_TRUE(checkAddresses(*layout, std::array{at(0x1000), at(0x3001), at(0x3000)}));
}

TEST(LayoutCache, FindsWhatHasTheSameWords) {
  LayoutCache<int> cache;
  cache.remember({{1, 2}}, std::make_shared<int>(12));
  EXPECT_EQ(*cache.find({{1, 2}}), 12);
  EXPECT_EQ(cache.find({{2, 1}}), nullptr);
  EXPECT_EQ(cache.find({{1, 2, 0}}), nullptr);
  cache.remember({{1, 2}}, std::make_shared<int>(13));
  EXPECT_EQ(*cache.find({{1, 2}}), 13);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(LayoutCache, WhatWasNotUsedLongestIsForgotten) {
  LayoutCache<int> cache(2);
  cache.remember({{1}}, std::make_shared<int>(1));
  cache.remember({{2}}, std::make_shared<int>(2));
  ASSERT_TRUE(cache.find({{1}}));
  cache.remember({{3}}, std::make_shared<int>(3));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_TRUE(cache.find({{1}}));
  EXPECT_EQ(cache.find({{2}}), nullptr);
  EXPECT_TRUE(cache.find({{3}}));
}

TEST(LayoutCache, ThreadsGetTheLayoutThatTheyAskFor) {
  LayoutCache<std::int64_t> cache(3);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (std::int64_t run = 0; run < 2000; ++run) {
        LayoutKey key{{run % 5}};
        std::shared_ptr<const std::int64_t> found = cache.find(key);
        if (found)
          ASSERT_EQ(*found, run % 5);
        else
          cache.remember(key, std::make_shared<std::int64_t>(run % 5));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(LayoutKey, TellsAddressesApartByTheirAlignment) {
  EXPECT_EQ(alignmentClass(nullptr), 0);
  EXPECT_EQ(alignmentClass(at(0x1001)), 1);
  EXPECT_EQ(alignmentClass(at(0x1010)), 16);
  EXPECT_EQ(alignmentClass(at(0x1080)), 128);
  EXPECT_EQ(alignmentClass(at(0x1100)), 256);
  EXPECT_EQ(alignmentClass(at(0x10000)), 256);
}

} // namespace
