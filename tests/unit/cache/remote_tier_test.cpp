// What a store does with entries beyond this machine.
#include "runtime/cache/remote_tier.h"

#include "tests/unit/cache/folder.h"

#include <map>
#include <mutex>
#include <thread>

namespace attnc::cache {
namespace {

/// Keeps entries in memory, and counts.
class FakeTier : public RemoteTier {
public:
  std::optional<std::string> get(Tier tier, const std::string &key) override {
    std::lock_guard guard(mutex);
    ++gets;
    auto found = entries.find({tier, key});
    return found == entries.end() ? std::nullopt : std::optional(found->second);
  }
  void put(Tier tier, const std::string &key, std::string_view entry) override {
    std::lock_guard guard(mutex);
    ++puts;
    entries[{tier, key}] = entry;
  }
  std::optional<Result<std::string>> compile(const std::string &, const std::string &,
                                             const std::string &, Error &) override {
    return std::nullopt;
  }

  std::mutex mutex;
  std::map<std::pair<Tier, std::string>, std::string> entries;
  int gets = 0, puts = 0;
};

class RemoteTierTest : public testing::Test {
protected:
  std::shared_ptr<Store> open(const std::string &directory, bool readOnly = false) const {
    StoreOptions options;
    options.directory = directory;
    options.remote = tier;
    options.readOnly = readOnly;
    return *Store::open(options);
  }
  Store::Make makes(std::int64_t number) {
    return [this, number]() -> Result<Store::Value> {
      ++made;
      return Store::Value{valueOf(number)};
    };
  }

  const TestFolder folder;
  const std::shared_ptr<FakeTier> tier = std::make_shared<FakeTier>();
  std::atomic<int> made = 0;
};

TEST_F(RemoteTierTest, WhatOneMachineMakesAnotherOneTakes) {
  Result<Store::Value> first = open(folder / "a")->getOrMake(Tier::Image, keyOf(1), makes(1));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->source, Source::Made);
  std::shared_ptr<Store> other = open(folder / "b");
  Result<Store::Value> second = other->getOrMake(Tier::Image, keyOf(1), makes(1));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->source, Source::Remote);
  EXPECT_EQ(second->bytes, valueOf(1));
  EXPECT_EQ(made, 1);
  EXPECT_EQ(tier->puts, 1) << "what came from there is not given back";
  EXPECT_EQ(other->stats().counts.remote, 1u);
  int asked = tier->gets;
  EXPECT_EQ(other->getOrMake(Tier::Image, keyOf(1), makes(1))->source, Source::Disk);
  EXPECT_EQ(other->get(Tier::Image, keyOf(1)), valueOf(1));
  EXPECT_EQ(tier->gets, asked) << "it is on disk";
}

TEST_F(RemoteTierTest, IsAskedOnceByAllThreads) {
  ASSERT_TRUE(open(folder / "a")->getOrMake(Tier::Image, keyOf(1), makes(1)));
  tier->gets = 0;
  std::shared_ptr<Store> store = open(folder / "b");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        Result<Store::Value> value = store->getOrMake(Tier::Image, keyOf(1), makes(1));
        EXPECT_TRUE(value && value->bytes == valueOf(1));
      });
  }
  EXPECT_EQ(tier->gets, 1);
  EXPECT_EQ(made, 1);
}

TEST_F(RemoteTierTest, GetAndPutGoThereToo) {
  open(folder / "a")->put(Tier::Program, keyOf(1), valueOf(1));
  EXPECT_EQ(open(folder / "b")->get(Tier::Program, keyOf(1)), valueOf(1));
  EXPECT_EQ(open(folder / "b")->get(Tier::Image, keyOf(1)), std::nullopt);
}

TEST_F(RemoteTierTest, WhatMakeHasFromThereIsOnDiskAndNotGivenBack) {
  std::shared_ptr<Store> store = open(folder / "a");
  Result<Store::Value> value =
      store->getOrMake(Tier::Program, keyOf(1), []() -> Result<Store::Value> {
        return Store::Value{valueOf(1), Source::Remote};
      });
  ASSERT_TRUE(value);
  EXPECT_EQ(value->source, Source::Remote);
  EXPECT_EQ(tier->puts, 0);
  EXPECT_EQ(store->stats().counts.made, 0u);
  EXPECT_EQ(store->stats().total().entries, 1u);
}

TEST_F(RemoteTierTest, GivesAlsoWhereTheDiskIsOnlyRead) {
  std::filesystem::create_directory(folder / "a");
  std::filesystem::permissions(folder / "a", std::filesystem::perms(0700));
  std::shared_ptr<Store> store = open(folder / "a", /*readOnly=*/true);
  EXPECT_EQ(store->getOrMake(Tier::Image, keyOf(1), makes(1))->source, Source::Made);
  EXPECT_EQ(store->getOrMake(Tier::Image, keyOf(1), makes(1))->source, Source::Remote);
  EXPECT_EQ(store->stats().total().entries, 0u);
}

TEST_F(RemoteTierTest, ABadEntryIsMadeAnew) {
  tier->entries[{Tier::Image, keyOf(1)}] = encodeEntry(Tier::Image, keyOf(2), valueOf(2));
  Result<Store::Value> value = open(folder / "a")->getOrMake(Tier::Image, keyOf(1), makes(1));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->source, Source::Made);
  EXPECT_EQ(value->bytes, valueOf(1));
}

} // namespace
} // namespace attnc::cache
