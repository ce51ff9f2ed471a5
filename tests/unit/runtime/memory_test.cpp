// Bytes: how they are written, how many are there, and what a budget allows.
#include "runtime/program/available_memory.h"
#include "runtime/program/byte_count.h"
#include "runtime/program/memory_budget.h"

#include "tests/unit/runtime/example_manifest.h"

#include <gtest/gtest.h>

using namespace attnc;

namespace {

TEST(ByteCount, UnitsAreThoseOfTheirLetters) {
  EXPECT_EQ(*parseBytes("0"), 0);
  EXPECT_EQ(*parseBytes("1536"), 1536);
  EXPECT_EQ(*parseBytes("7B"), 7);
  EXPECT_EQ(*parseBytes("2GiB"), std::int64_t(2) << 30);
  EXPECT_EQ(*parseBytes("2 gib"), std::int64_t(2) << 30);
  EXPECT_EQ(*parseBytes("1.5KiB"), 1536);
  EXPECT_EQ(*parseBytes("0.5TB"), 500'000'000'000);
  EXPECT_EQ(*parseBytes("3MB"), 3'000'000);
  EXPECT_EQ(*parseBytes("1PiB"), std::int64_t(1) << 50);
}

TEST(ByteCount, WhatIsNoNumberOfBytesIsRefused) {
  for (const char *text : {"", "GiB", "-1", "+1", "2G", "2GiBB", "2 3", "0x10", "nan", "inf", "1e3",
                           "2,5GiB", "2EB", " 2"}) {
    Result<std::int64_t> bytes = parseBytes(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().message, "'" + std::string(text) + "' is no number of bytes");
    EXPECT_NE(bytes.error().remedy.find("2GiB"), std::string::npos);
  }
  EXPECT_EQ(parseBytes("8192PiB").error().message, "'8192PiB' is more than 2^63 - 1 bytes");
}

TEST(ByteCount, TextsHaveTheLargestUnitThatFits) {
  EXPECT_EQ(bytesText(0), "0 bytes");
  EXPECT_EQ(bytesText(1023), "1023 bytes");
  EXPECT_EQ(bytesText(1024), "1.0 KiB");
  EXPECT_EQ(bytesText(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
  EXPECT_EQ(bytesText(0x1p63), "8192.0 PiB");
}

// Whatever the machine, a test runs on more than nothing and on less than there can be.
TEST(AvailableMemory, IsMoreThanNothing) {
  std::optional<std::uint64_t> bytes = availableHostMemory();
  ASSERT_TRUE(bytes);
  EXPECT_GT(*bytes, std::uint64_t(1) << 20);
  EXPECT_LT(*bytes, std::uint64_t(1) << 60);
}

/// t = 4 tiles of j = 200: partial has 4 * 3 * 4 floats, 192 bytes, and flags 4.
Binding bindingOf(std::optional<std::int64_t> budget) {
  Binding binding;
  binding.scope.sizes = {{"b", 2}, {"h", 4}, {"hk", 2}, {"i", 3}, {"j", 200}, {"d", 4}, {"t", 4}};
  binding.memoryBudget = budget;
  return binding;
}

Result<Workspace> planned(const Manifest &manifest, std::size_t variant,
                          std::optional<std::int64_t> budget) {
  return planWorkspace(manifest, manifest.variants[variant], bindingOf(budget));
}

TEST(MemoryBudget, AllowsWhatFitsToTheByte) {
  Manifest manifest = exampleManifest();
  EXPECT_TRUE(planned(manifest, 0, std::nullopt));
  EXPECT_TRUE(planned(manifest, 0, 196));
  EXPECT_FALSE(planned(manifest, 0, 195));
  EXPECT_TRUE(planned(manifest, 1, 0)); // stores nothing
}

// A counter is no value: a program that stores nothing has a budget of 0 however it draws its
// tiles.
TEST(MemoryBudget, DoesNotCountCounters) {
  Manifest manifest = exampleManifest();
  manifest.variants[1].launches[0].args.push_back(ArgDecl::counter());
  Result<Workspace> workspace = planned(manifest, 1, 0);
  ASSERT_TRUE(workspace) << workspace.error().message;
  EXPECT_GT(workspace->bytes, 0);
}

TEST(MemoryBudget, TheErrorNamesValuesShapeAndReasons) {
  Manifest manifest = exampleManifest();
  manifest.intermediates[0].place = "a.json:9:3";
  manifest.intermediates[0].reason = "o needs it";
  Result<Workspace> refused = planned(manifest, 0, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::InvalidArgument);
  EXPECT_EQ(refused.error().message,
            "196 bytes go through memory between kernels at b=2, h=4, hk=2, i=3, j=200; the "
            "memory budget is 100 bytes\n"
            "    partial: f32[t, i, d], 192 bytes, a.json:9:3: o needs it\n"
            "    flags: u8[t], 4 bytes");
  EXPECT_NE(refused.error().remedy, "");
}

TEST(MemoryBudget, OfManyValuesTheLargestAreNamed) {
  Manifest manifest = exampleManifest();
  for (const char *name : {"u", "v", "w", "x"}) { // each 3 * 4 floats
    manifest.intermediates.push_back({name, DType::F32, {"i", "d"}, 0});
    manifest.variants[0].launches[1].args.push_back(ArgDecl::pointer(name));
  }
  std::string message = planned(manifest, 0, 0).error().message;
  EXPECT_NE(message.find("\n    partial"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with("\n    and 2 more: 52 bytes")) << message; // x and flags
}

TEST(MemoryBudget, OfTheProgramCountsUnlessTheCallerSaysOtherwise) {
  alignas(64) float q[2 * 4 * 3 * 4] = {}, k[2 * 2 * 5 * 4] = {}, o[2 * 4 * 3 * 4] = {};
  Manifest manifest = exampleManifest();
  BindRequest request;
  request.inputs["q"] = TensorRef::contiguous(q, DType::F32, {2, 4, 3, 4});
  request.inputs["k"] = TensorRef::contiguous(k, DType::F32, {2, 2, 5, 4});
  request.outputs["o"] = TensorRef::contiguous(o, DType::F32, {2, 4, 3, 4});
  EXPECT_EQ(bind(manifest, request)->memoryBudget, std::nullopt);
  manifest.memoryBudget = 100;
  EXPECT_EQ(bind(manifest, request)->memoryBudget, 100);
  request.memoryBudget = 0;
  EXPECT_EQ(bind(manifest, request)->memoryBudget, 0);
}

TEST(MemoryBudget, WithoutMemoryTheErrorSaysWhatItWasFor) {
  Manifest manifest = exampleManifest();
  Binding binding = bindingOf(std::nullopt);
  Workspace workspace = *planWorkspace(manifest, manifest.variants[0], binding);
  Error error = noMemoryFor(manifest, workspace, binding.scope, environmentError("none is left"));
  EXPECT_EQ(error.kind, ErrorKind::Environment);
  EXPECT_EQ(error.message,
            "there is no memory for what goes between kernels, 196 bytes at b=2, h=4, hk=2, i=3, "
            "j=200: none is left\n"
            "    partial: f32[t, i, d], 192 bytes\n"
            "    flags: u8[t], 4 bytes");
}

} // namespace
