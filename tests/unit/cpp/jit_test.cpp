#include "tests/unit/cpp/specs.h"

#include <thread>

using namespace attnc;
using namespace attnc::test;

namespace {

TEST(Jit, CompilesWhatItHasNotSeen) {
  Result<Jit> jit = Jit::create();
  ASSERT_EQ(said(jit), "");
  Options options = {"cpu"};
  options.noCache = true;
  Result<Program> first = jit->compile(scaled().spec(), options);
  ASSERT_EQ(said(first), "");
  ASSERT_EQ(said(jit->compile(scaled().spec(), options)), "");
  EXPECT_EQ(jit->stats().misses, 1U);
  EXPECT_EQ(jit->stats().hits, 1U);
  options.set = {"d=8"};
  ASSERT_EQ(said(jit->compile(scaled().spec(), options)), "");
  EXPECT_EQ(jit->stats().programs, 2U);
  jit->clear();
  EXPECT_EQ(jit->stats().programs, 0U);
  EXPECT_EQ(first->name(), "scaled") << "what the caller holds lives on";
}

TEST(Jit, KeepsAsManyAsItMay) {
  Result<Jit> jit = Jit::create(1);
  ASSERT_EQ(said(jit), "");
  ASSERT_EQ(said(jit->compile(scaled().spec(), {"cpu"})), "");
  ASSERT_EQ(said(jit->compile(table().spec(), {"cpu"})), "");
  EXPECT_EQ(jit->stats().programs, 1U);
  EXPECT_EQ(jit->stats().dropped, 1U);
}

TEST(Jit, ThreadsThatAskForTheSameCompileItOnce) {
  Result<Jit> jit = Jit::create();
  ASSERT_EQ(said(jit), "");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(
        [copy = *jit] { EXPECT_EQ(said(copy.compile(table().spec(), {"cpu"})), ""); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(jit->stats().misses, 1U);
  EXPECT_EQ(jit->stats().hits, 3U);
}

} // namespace
