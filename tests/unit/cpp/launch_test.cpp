#include "tests/unit/cpp/specs.h"

#include <cmath>
#include <cstdlib>

using namespace attnc;
using namespace attnc::test;

namespace {

TEST(Launch, ComputesWhatTheSpecSays) {
  Rows rows;
  Loaded onCpu = loaded(scaled());
  EXPECT_EQ(onCpu.device(), -1);
  EXPECT_EQ(onCpu.program().name(), "scaled");
  EXPECT_EQ(said(onCpu.warmUp()), "");
  Arguments arguments = rows.arguments();
  ASSERT_EQ(said(onCpu.launch(arguments)), "");
  EXPECT_EQ(rows.y[5], 10);
  arguments.params = {{"by", 3}};
  ASSERT_EQ(said(onCpu.launch(arguments)), "");
  EXPECT_EQ(rows.y[5], 15);
  arguments.params = {{"by", 0.5}};
  ASSERT_EQ(said(onCpu.launch(arguments)), "");
  EXPECT_EQ(rows.y[5], 2.5);
}

TEST(Launch, APlanOutlivesWhatItWasMadeFrom) {
  Rows rows;
  std::optional<Plan> plan;
  {
    Result<Plan> bound = loaded(scaled()).bind(rows.arguments());
    ASSERT_EQ(said(bound), "");
    plan = *std::move(bound);
  }
  EXPECT_EQ(plan->workspaceBytes(), 0);
  for (float first : {0.F, 8.F}) {
    rows.x[0] = first;
    ASSERT_EQ(said(plan->launch()), "");
    EXPECT_EQ(rows.y[0], 2 * first);
  }
}

TEST(Launch, TensorsMayHaveStridesAndNoNames) {
  Rows rows;
  std::vector<float> wide(18); // rows of 6 elements
  for (int n = 0; n < 3; ++n)
    wide[6 * n + 3] = static_cast<float>(n + 1);
  Arguments arguments = {{{"", wide.data(), {3, 4}, {6, 1}}, {"", rows.y.data(), {3, 4}}}};
  ASSERT_EQ(said(loaded(scaled()).launch(arguments)), "");
  EXPECT_EQ(rows.y[11], 6);
  arguments.tensors[0].strides = {6};
  EXPECT_EQ(said(loaded(scaled()).bind(arguments)),
            saying(ErrorKind::InvalidArgument, ": has 2 extents and 1 strides"));
}

TEST(Launch, WhatIsReadOnlyIsNoOutput) {
  Rows rows;
  const float *constant = rows.y.data();
  for (const char *name : {"y", ""}) {
    Arguments arguments = {{{name[0] ? "x" : "", rows.x.data(), {3, 4}}, {name, constant, {3, 4}}}};
    Loaded onCpu = loaded(scaled());
    std::string refusal =
        saying(ErrorKind::InvalidArgument, "output " + std::string(name) + " is read-only");
    EXPECT_EQ(said(onCpu.bind(arguments)), refusal);
    EXPECT_EQ(said(onCpu.launch(arguments)), refusal);
  }
  EXPECT_EQ(rows.y[0], -1);
}

TEST(Launch, WhatDoesNotFitIsNamed) {
  Rows rows;
  Loaded onCpu = loaded(scaled());
  Arguments arguments = rows.arguments();
  arguments.params = {{"by", -1.0}};
  EXPECT_EQ(onCpu.bind(arguments).error().kind, ErrorKind::InvalidArgument);
  arguments = rows.arguments();
  arguments.tensors.pop_back();
  Result<Plan> without = onCpu.bind(arguments);
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().message.find('y'), std::string::npos);
}

/// table() for two rows: a workspace of 32 bytes.
struct Table {
  float s[8] = {0, 0, 0, 0, 1, 1, 1, 1}, y[2] = {};
  std::int32_t top[2] = {1, 3};
  Arguments arguments() { return {{{"s", s, {2, 4}}, {"top", top, {2}}, {"y", y, {2}}}}; }
};

TEST(Workspace, ComesFromTheCallersFunctions) {
  Table table;
  Result<Plan> plan = loaded(test::table()).bind(table.arguments());
  ASSERT_EQ(said(plan), "");
  ASSERT_GT(plan->workspaceBytes(), 0);
  std::vector<std::string> calls;
  int stream = 0;
  void *memory = std::aligned_alloc(256, 4096);
  Allocator allocator = {[&](std::size_t bytes, void *given) {
                           EXPECT_EQ(bytes, static_cast<std::size_t>(plan->workspaceBytes()));
                           EXPECT_EQ(given, &stream);
                           calls.push_back("allocate");
                           return memory;
                         },
                         [&](void *given, std::size_t bytes, void *) {
                           EXPECT_EQ(given, memory);
                           EXPECT_EQ(bytes, static_cast<std::size_t>(plan->workspaceBytes()));
                           calls.push_back(table.y[0] == 0.25F ? "free" : "free too early");
                         }};
  ASSERT_EQ(said(plan->launch(&stream, allocator)), "");
  EXPECT_EQ(calls, (std::vector<std::string>{"allocate", "free"}));
  EXPECT_EQ(table.y[1], 0.25F);
  table.y[1] = 0;
  ASSERT_EQ(said(plan->launch(nullptr, memory)), "");
  EXPECT_EQ(table.y[1], 0.25F);
  std::free(memory);
}

TEST(Workspace, AllocatorsThatFailLaunchNothing) {
  Table table;
  Result<Plan> plan = loaded(test::table()).bind(table.arguments());
  ASSERT_EQ(said(plan), "");
  EXPECT_EQ(plan->launch(nullptr, Allocator{}).error().kind, ErrorKind::InvalidArgument);
  int freed = 0;
  auto none = [](std::size_t, void *) -> void * { return nullptr; };
  auto crooked = [&](std::size_t, void *) { return static_cast<void *>(&table.s[1]); };
  auto count = [&](void *, std::size_t, void *) { ++freed; };
  Status refused = plan->launch(nullptr, Allocator{none, count});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Environment);
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(
      said(plan->launch(nullptr, Allocator{crooked, count})),
      saying(ErrorKind::InvalidArgument, "the allocator's memory is not aligned to 256 bytes"));
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(table.y[0], 0);
}

TEST(Workspace, IsNotAskedForWhereNoneIsNeeded) {
  Rows rows;
  Result<Plan> plan = loaded(scaled()).bind(rows.arguments());
  ASSERT_EQ(said(plan), "");
  EXPECT_EQ(said(plan->launch(nullptr, Allocator{})), "");
  EXPECT_EQ(rows.y[1], 2);
}

TEST(MemoryBudget, BoundsWhatLiesBetweenKernels) {
  Table table;
  Arguments arguments = table.arguments();
  arguments.memoryBudget = 0;
  EXPECT_EQ(loaded(test::table()).bind(arguments).error().kind, ErrorKind::InvalidArgument);
  arguments.memoryBudget = 1 << 20;
  EXPECT_EQ(said(loaded(test::table()).bind(arguments)), "");
}

} // namespace
