#include "runtime/cache/atomic_file.h"
#include "runtime/cache/store.h"
#include "tests/unit/cache/folder.h"

using namespace attnc;
using namespace attnc::cache;

namespace {

class UpkeepTest : public testing::Test {
protected:
  std::string fileOf(std::int64_t number) const { return directory + "/image/" + keyOf(number); }

  /// Entries 0 to count - 1, of which 0 was used last.
  std::shared_ptr<Store> filled(std::int64_t count) {
    std::shared_ptr<Store> store = openStore(directory);
    for (std::int64_t i = 0; i < count; ++i) {
      store->put(Tier::Image, keyOf(i), valueOf(i));
      setAge(fileOf(i), 1000 * (i + 1));
    }
    return store;
  }

  TestFolder folder;
  std::string directory = folder / "cache";
};

TEST_F(UpkeepTest, WhatWasUsedLeastRecentlyGoesFirst) {
  std::shared_ptr<Store> store = filled(8);
  EXPECT_TRUE(store->get(Tier::Image, keyOf(7))); // the oldest becomes the newest
  std::uint64_t bound = 0;
  for (std::int64_t i : {0, 1, 2, 7})
    bound += std::filesystem::file_size(fileOf(i));
  PruneReport report = store->prune(bound);
  EXPECT_EQ(report.removed, 4u);
  EXPECT_EQ(report.left.bytes, bound);
  EXPECT_EQ(report.left.bytes, store->stats().total().bytes);
  for (std::int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(store->get(Tier::Image, keyOf(i)).has_value(), i < 3 || i == 7) << i;
}

TEST_F(UpkeepTest, WhatWasJustWrittenStays) {
  std::shared_ptr<Store> store = filled(2);
  store->put(Tier::Image, keyOf(9), valueOf(9));
  EXPECT_EQ(store->prune(0).removed, 2u);
  EXPECT_TRUE(store->get(Tier::Image, keyOf(9)));
}

TEST_F(UpkeepTest, ATimeInTheFutureDoesNotKeepAnEntry) {
  std::shared_ptr<Store> store = filled(2);
  setAge(fileOf(1), -1000000);
  PruneReport report = store->prune(store->stats().total().bytes - 1);
  EXPECT_EQ(report.removed, 1u);
  EXPECT_FALSE(std::filesystem::exists(fileOf(1)));
}

TEST_F(UpkeepTest, AFileThatIsReadWhileItIsPrunedIsWhole) {
  std::shared_ptr<Store> store = filled(1);
  std::ifstream open(fileOf(0), std::ios::binary);
  EXPECT_EQ(store->prune(0).removed, 1u);
  std::string content(std::istreambuf_iterator<char>(open), {});
  EXPECT_TRUE(decodeEntry(Tier::Image, keyOf(0), content));
}

TEST_F(UpkeepTest, TheStorePrunesItselfWhenItHasGrown) {
  filled(8);
  std::uint64_t bytes = openStore(directory)->stats().total().bytes;
  StoreOptions options;
  options.directory = directory;
  options.maxBytes = bytes / 2;
  std::shared_ptr<Store> store = *Store::open(options);
  writeTo(directory + "/prune.lock", ""); // somebody has pruned just now
  store->put(Tier::Image, keyOf(9), "x");
  EXPECT_EQ(store->list().size(), 9u) << "not yet";
  setAge(directory + "/prune.lock", 3600);
  store->put(Tier::Image, keyOf(9), "x");
  EXPECT_LT(store->list().size(), 6u);
  EXPECT_LE(store->stats().total().bytes, bytes / 2);
}

TEST_F(UpkeepTest, TheStorePrunesItselfWhenItHasWrittenMuch) {
  filled(8);
  StoreOptions options;
  options.directory = directory;
  options.maxBytes = 4000;
  std::shared_ptr<Store> store = *Store::open(options);
  writeTo(directory + "/prune.lock", "");
  store->put(Tier::Image, keyOf(9), valueOf(9));
  EXPECT_LT(store->list().size(), 8u);
}

TEST_F(UpkeepTest, VerifyDropsWhatIsDamaged) {
  std::shared_ptr<Store> store = filled(4);
  std::filesystem::resize_file(fileOf(2), 50);
  VerifyReport report = store->verify();
  EXPECT_EQ(report.good, 3u);
  EXPECT_EQ(report.dropped, 1u);
  EXPECT_FALSE(std::filesystem::exists(fileOf(2)));
  EXPECT_LT(store->list().at(0).lastUse,
            std::chrono::system_clock::now() - std::chrono::seconds(500))
      << "it is no use";
}

TEST_F(UpkeepTest, ClearLeavesOnlyWhatIsNotTheCaches) {
  std::shared_ptr<Store> store = filled(4);
  std::filesystem::create_directories(directory + "/tuning");
  writeTo(directory + "/tuning/device.json", "{}");
  EXPECT_EQ(store->clear().removed, 4u);
  EXPECT_EQ(store->stats().total().entries, 0u);
  EXPECT_TRUE(std::filesystem::exists(directory + "/tuning/device.json"));
}

TEST_F(UpkeepTest, TemporaryFilesOfTheDeadAreRemovedAndThoseOfWritersAreNot) {
  std::shared_ptr<Store> store = filled(1);
  std::string dead = directory + "/image/.attnc-dead", young = directory + "/image/.attnc-young";
  writeTo(dead, "half");
  writeTo(young, "half");
  setAge(dead, 3600);
  Result<AtomicFile> writing = AtomicFile::create(systemFiles(), fileOf(5), 0600);
  ASSERT_TRUE(writing && writing->append("half"));
  for (const auto &file : std::filesystem::directory_iterator(directory + "/image"))
    if (file.path() != young)
      setAge(file.path(), 3600);
  store->prune(defaultMaxBytes);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(young));
  EXPECT_TRUE(writing->commit()) << "a slow writer is not dead";
  EXPECT_EQ(contentOf(fileOf(5)), "half");
}

} // namespace
