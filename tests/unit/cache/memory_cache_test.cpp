#include "runtime/cache/memory_cache.h"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace attnc::cache;

namespace {

using Cache = MemoryCache<std::string>;

bool always(const std::string &) { return true; }
bool never(const std::string &) { return false; }

/// A value that says how often one was made.
struct Maker {
  Cache::Pointer operator()() {
    return std::make_shared<const std::string>(std::to_string(++count));
  }
  int count = 0;
};

TEST(MemoryCache, MakesAValueOnce) {
  Cache cache(4);
  Maker maker;
  auto first = cache.getOrMake("a", std::ref(maker), always);
  EXPECT_EQ(cache.getOrMake("a", std::ref(maker), always), first);
  EXPECT_EQ(*cache.getOrMake("b", std::ref(maker), always), "2");
  MemoryStats stats = cache.stats();
  EXPECT_EQ(stats.values, 2u);
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.misses, 2u);
  EXPECT_EQ(stats.dropped, 0u);
}

TEST(MemoryCache, TheLeastRecentlyUsedGoesFirst) {
  Cache cache(2);
  Maker maker;
  auto get = [&](const char *key) { return *cache.getOrMake(key, std::ref(maker), always); };
  get("a"), get("b"), get("a"), get("c"); // b goes
  EXPECT_EQ(get("a"), "1");
  EXPECT_EQ(get("c"), "3");
  EXPECT_EQ(get("b"), "4");
  EXPECT_EQ(cache.stats().dropped, 2u);
  EXPECT_EQ(cache.stats().values, 2u);
}

TEST(MemoryCache, SizesBoundItWhereTheyAreGiven) {
  Cache cache(10, [](const std::string &value) { return value.size(); });
  auto add = [&](const std::string &key, std::size_t size) {
    auto make = [&] { return std::make_shared<const std::string>(size, 'x'); };
    EXPECT_EQ(cache.getOrMake(key, make, always)->size(), size);
  };
  add("a", 4), add("b", 4);
  EXPECT_NE(cache.find("a"), nullptr);
  add("c", 4); // b goes: a was used after it
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.stats().size, 8u);
  add("large", 11); // larger than all that may be kept: nothing goes for it
  EXPECT_EQ(cache.find("large"), nullptr);
  EXPECT_EQ(cache.stats().values, 2u);
  add("d", 10);
  EXPECT_EQ(cache.stats().values, 1u);
  EXPECT_EQ(cache.stats().size, 10u);
  cache.clear();
  EXPECT_EQ(cache.stats().size, 0u);
}

TEST(MemoryCache, WhatIsNotKeptIsMadeAgain) {
  Cache cache(2);
  Maker maker;
  EXPECT_EQ(*cache.getOrMake("a", std::ref(maker), never), "1");
  EXPECT_EQ(*cache.getOrMake("a", std::ref(maker), always), "2");
  EXPECT_EQ(*cache.getOrMake("a", std::ref(maker), always), "2");
}

TEST(MemoryCache, WhatIsThrownIsNotKept) {
  Cache cache(2);
  auto fail = []() -> Cache::Pointer { throw std::runtime_error("no"); };
  EXPECT_THROW(cache.getOrMake("a", fail, always), std::runtime_error);
  Maker maker;
  EXPECT_EQ(*cache.getOrMake("a", std::ref(maker), always), "1");
}

TEST(MemoryCache, ThreadsThatAskForTheSameWaitForOne) {
  constexpr int threads = 8;
  Cache cache(2);
  std::atomic<int> made = 0;
  std::latch started(threads);
  auto make = [&] {
    while (cache.stats().waits + 1 < threads) // until all others wait
      std::this_thread::yield();
    ++made;
    return std::make_shared<const std::string>("value");
  };
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      started.arrive_and_wait();
      EXPECT_EQ(*cache.getOrMake("a", make, always), "value");
    });
  all.clear();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(cache.stats().waits, threads - 1u);
}

TEST(MemoryCache, WhoWaitsGetsWhatIsNotKeptToo) {
  Cache cache(2);
  auto make = [&] {
    while (cache.stats().waits == 0)
      std::this_thread::yield();
    return std::make_shared<const std::string>("error");
  };
  std::jthread other([&] { EXPECT_EQ(*cache.getOrMake("a", make, never), "error"); });
  while (cache.stats().misses == 0)
    std::this_thread::yield();
  Maker maker;
  EXPECT_EQ(*cache.getOrMake("a", std::ref(maker), always), "error");
  EXPECT_EQ(maker.count, 0);
}

TEST(MemoryCache, AChildDoesNotWaitForAThreadOfItsParent) {
  Cache cache(2);
  std::latch forked(1);
  auto make = [&] {
    forked.wait();
    return std::make_shared<const std::string>("parent's");
  };
  std::jthread maker([&] { cache.getOrMake("a", make, always); });
  while (cache.stats().misses == 0)
    std::this_thread::yield();
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10); // it would wait for ever
    Maker own;
    ::_exit(*cache.getOrMake("a", std::ref(own), always) == "1" ? 0 : 1);
  }
  forked.count_down();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(MemoryCache, WhatIsMadeDuringAClearIsNotKept) {
  Cache cache(2);
  auto make = [&] {
    cache.clear();
    return std::make_shared<const std::string>("old");
  };
  EXPECT_EQ(*cache.getOrMake("a", make, always), "old");
  Maker maker;
  EXPECT_EQ(*cache.getOrMake("a", std::ref(maker), always), "1");
  cache.clear();
  EXPECT_EQ(cache.stats().values, 0u);
}

} // namespace
