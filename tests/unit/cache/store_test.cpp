#include "runtime/cache/store.h"
#include "runtime/cache/warning.h"
#include "tests/unit/cache/folder.h"

#include <atomic>
#include <gmock/gmock.h>
#include <thread>

using namespace attnc;
using namespace attnc::cache;
using testing::HasSubstr;

namespace {

/// A directory, and what is warned about.
class StoreTest : public testing::Test {
protected:
  void SetUp() override {
    setWarning([this](const Error &error) { warnings.push_back(error.text()); });
  }
  void TearDown() override { setWarning(nullptr); }

  std::string fileOf(std::int64_t number, Tier tier = Tier::Image) const {
    return directory + "/" + std::string(nameOf(tier)) + "/" + keyOf(number);
  }

  TestFolder folder;
  std::string directory = folder / "cache";
  std::vector<std::string> warnings;
};

Store::Make makes(std::int64_t number, std::atomic<int> &calls) {
  return [number, &calls]() -> Result<Store::Value> {
    ++calls;
    return Store::Value{valueOf(number)};
  };
}

TEST_F(StoreTest, WhatWasPutIsThereForOthers) {
  openStore(directory)->put(Tier::Image, keyOf(1), valueOf(1));
  std::shared_ptr<Store> store = openStore(directory);
  EXPECT_EQ(store->get(Tier::Image, keyOf(1)), valueOf(1));
  EXPECT_EQ(store->get(Tier::Image, keyOf(2)), std::nullopt);
  EXPECT_EQ(store->get(Tier::Program, keyOf(1)), std::nullopt) << "tiers are apart";
  EXPECT_EQ(store->stats().counts.hits, 1u);
  EXPECT_EQ(store->stats().counts.misses, 2u);
  EXPECT_EQ(filesIn(directory + "/image"), 1u) << "nothing temporary is left";
}

TEST_F(StoreTest, AFileOfAnEntryIsAddedOnceAndOnlyIfItIsSound) {
  std::shared_ptr<Store> store = openStore(directory);
  std::string file = encodeEntry(Tier::Image, keyOf(1), valueOf(1));
  Result<bool> first = store->addFile(file), again = store->addFile(file);
  ASSERT_TRUE(first && again);
  EXPECT_TRUE(*first);
  EXPECT_FALSE(*again);
  EXPECT_EQ(store->get(Tier::Image, keyOf(1)), valueOf(1));
  EXPECT_EQ(store->getFile(Tier::Image, keyOf(1)), file);
  EXPECT_EQ(store->getFile(Tier::Image, keyOf(2)), std::nullopt);

  std::string changed = encodeEntry(Tier::Image, keyOf(3), valueOf(3));
  changed.back() ^= 1;
  for (std::string_view wrong : {std::string_view(changed), std::string_view(file).substr(0, 50)}) {
    Result<bool> refused = store->addFile(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::InvalidArgument);
  }
  EXPECT_EQ(filesIn(directory + "/image"), 1u);
}

TEST_F(StoreTest, ATouchedEntryWasUsedLast) {
  std::shared_ptr<Store> store = openStore(directory);
  store->put(Tier::Image, keyOf(1), valueOf(1));
  auto hourAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(fileOf(1), hourAgo);
  store->touch(Tier::Image, keyOf(1));
  EXPECT_GT(std::filesystem::last_write_time(fileOf(1)), hourAgo + std::chrono::minutes(59));
  store->touch(Tier::Image, keyOf(2)); // there is none, which is no matter
  EXPECT_EQ(store->list().size(), 1u);
}

TEST_F(StoreTest, IsTheUsersAlone) {
  openStore(directory)->put(Tier::Image, keyOf(1), valueOf(1));
  auto mode = [](const std::string &path) { return std::filesystem::status(path).permissions(); };
  using std::filesystem::perms;
  EXPECT_EQ(mode(directory), perms::owner_all);
  EXPECT_EQ(mode(directory + "/image"), perms::owner_all);
  EXPECT_EQ(mode(fileOf(1)), perms::owner_read | perms::owner_write);
}

TEST_F(StoreTest, RefusesADirectoryThatOthersMayWrite) {
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms(0770));
  Result<std::shared_ptr<Store>> store = Store::open({directory});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::Environment);
  EXPECT_THAT(store.error().text(), HasSubstr("chmod 700"));
}

TEST_F(StoreTest, RefusesAFileInPlaceOfTheDirectory) {
  writeTo(directory, "");
  Result<std::shared_ptr<Store>> store = Store::open({directory});
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().text(), HasSubstr("is a file"));
}

TEST_F(StoreTest, MakesWhatIsMissingAndOnlyThat) {
  std::shared_ptr<Store> store = openStore(directory);
  std::atomic<int> calls = 0;
  for (bool fromDisk : {false, true}) {
    Result<Store::Value> made = store->getOrMake(Tier::Image, keyOf(1), makes(1, calls));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->bytes, valueOf(1));
    EXPECT_EQ(made->source == Source::Disk, fromDisk);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(store->stats().counts.made, 1u);
  EXPECT_EQ(store->stats().counts.misses, 1u) << "the second look is none of its own";
}

TEST_F(StoreTest, AnErrorIsNotKept) {
  std::shared_ptr<Store> store = openStore(directory);
  Result<Store::Value> failed = store->getOrMake(
      Tier::Image, keyOf(1), [] { return Result<Store::Value>(compilationError("no")); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no");
  std::atomic<int> calls = 0;
  EXPECT_TRUE(store->getOrMake(Tier::Image, keyOf(1), makes(1, calls)));
  EXPECT_EQ(calls, 1);
}

TEST_F(StoreTest, OfManyThreadsOneMakes) {
  // Through one store and through two of one directory, which do not know of each other.
  std::shared_ptr<Store> stores[] = {openStore(directory), openStore(directory)};
  std::atomic<int> calls = 0, made = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([&, i] {
        Result<Store::Value> result =
            stores[i % 2]->getOrMake(Tier::Image, keyOf(1), [&]() -> Result<Store::Value> {
              std::this_thread::sleep_for(std::chrono::milliseconds(50));
              return *makes(1, calls)();
            });
        EXPECT_TRUE(result && result->bytes == valueOf(1));
        made += result->source == Source::Made;
      });
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(made, 1);
}

TEST_F(StoreTest, DifferentKeysAreMadeAtTheSameTime) {
  std::shared_ptr<Store> store = openStore(directory);
  std::atomic<int> inside = 0;
  // Each waits until the other one is inside too.
  auto meet = [&]() -> Result<Store::Value> {
    ++inside;
    for (int i = 0; inside < 2 && i < 5000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Store::Value{inside == 2 ? "met" : "alone"};
  };
  std::jthread other([&] { (void)store->getOrMake(Tier::Image, keyOf(1), meet).ok(); });
  Result<Store::Value> made = store->getOrMake(Tier::Image, keyOf(2), meet);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->bytes, "met");
}

TEST_F(StoreTest, WhenMakingThrowsAnotherThreadMakes) {
  std::shared_ptr<Store> store = openStore(directory);
  std::atomic<int> calls = 0;
  std::jthread first([&] {
    EXPECT_THROW((void)store->getOrMake(Tier::Image, keyOf(1),
                                        [&]() -> Result<Store::Value> {
                                          ++calls;
                                          std::this_thread::sleep_for(
                                              std::chrono::milliseconds(50));
                                          throw std::bad_alloc();
                                        }),
                 std::bad_alloc);
  });
  while (calls == 0)
    std::this_thread::yield();
  Result<Store::Value> made = store->getOrMake(Tier::Image, keyOf(1), makes(1, calls));
  EXPECT_TRUE(made && made->source == Source::Made);
  EXPECT_EQ(calls, 2);
}

TEST_F(StoreTest, DamageIsDroppedCountedAndMadeAnew) {
  std::shared_ptr<Store> store = openStore(directory);
  std::string good = encodeEntry(Tier::Image, keyOf(1), valueOf(1));
  std::string flipped = good;
  flipped[good.size() / 2] ^= 4;
  std::vector<std::string> bad = {
      "",         "not an entry", good.substr(0, 100),
      good + "x", flipped,        encodeEntry(Tier::Image, keyOf(2), valueOf(1))};
  std::atomic<int> calls = 0;
  for (const std::string &content : bad) {
    writeTo(fileOf(1), content);
    Result<Store::Value> made = store->getOrMake(Tier::Image, keyOf(1), makes(1, calls));
    EXPECT_TRUE(made && made->bytes == valueOf(1) && made->source == Source::Made);
    EXPECT_EQ(contentOf(fileOf(1)), good);
  }
  EXPECT_EQ(calls, static_cast<int>(bad.size()));
  EXPECT_EQ(store->stats().counts.dropped, bad.size());
  EXPECT_TRUE(warnings.empty());
}

TEST_F(StoreTest, WhatIsNoPlainFileIsNotRead) {
  std::shared_ptr<Store> store = openStore(directory);
  writeTo(folder / "elsewhere", encodeEntry(Tier::Image, keyOf(1), valueOf(1)));
  std::filesystem::create_symlink(folder / "elsewhere", fileOf(1));
  ASSERT_EQ(::mkfifo(fileOf(2).c_str(), 0600), 0);
  for (std::int64_t number : {1, 2}) {
    EXPECT_EQ(store->get(Tier::Image, keyOf(number)), std::nullopt);
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(fileOf(number))));
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "elsewhere"));
}

TEST_F(StoreTest, AFolderInPlaceOfAnEntryIsLeftAlone) {
  std::shared_ptr<Store> store = openStore(directory);
  std::filesystem::create_directories(fileOf(1) + "/inside");
  std::atomic<int> calls = 0;
  Result<Store::Value> made = store->getOrMake(Tier::Image, keyOf(1), makes(1, calls));
  EXPECT_TRUE(made && made->bytes == valueOf(1));
  EXPECT_TRUE(std::filesystem::exists(fileOf(1) + "/inside"));
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(StoreTest, ADirectoryThatIsRemovedMeanwhileIsMadeAgain) {
  std::shared_ptr<Store> store = openStore(directory);
  std::atomic<int> calls = 0;
  std::filesystem::remove_all(directory);
  EXPECT_TRUE(store->getOrMake(Tier::Image, keyOf(1), makes(1, calls)));
  std::filesystem::remove_all(directory);
  store->put(Tier::Image, keyOf(2), valueOf(2));
  EXPECT_EQ(store->get(Tier::Image, keyOf(2)), valueOf(2));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(StoreTest, WhoOnlyReadsChangesNothing) {
  openStore(directory)->put(Tier::Image, keyOf(1), valueOf(1));
  writeTo(fileOf(2), "damaged");
  setAge(fileOf(1), 1000);
  auto before = std::filesystem::last_write_time(fileOf(1));
  StoreOptions options;
  options.directory = directory;
  options.readOnly = true;
  std::shared_ptr<Store> store = *Store::open(options);
  std::atomic<int> calls = 0;
  EXPECT_EQ(store->get(Tier::Image, keyOf(1)), valueOf(1));
  EXPECT_EQ(std::filesystem::last_write_time(fileOf(1)), before);
  for (std::int64_t number : {2, 3})
    EXPECT_TRUE(store->getOrMake(Tier::Image, keyOf(number), makes(number, calls)));
  EXPECT_EQ(contentOf(fileOf(2)), "damaged");
  EXPECT_FALSE(std::filesystem::exists(fileOf(3)));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(StoreTest, AUseIsWrittenDown) {
  std::shared_ptr<Store> store = openStore(directory);
  store->put(Tier::Image, keyOf(1), valueOf(1));
  setAge(fileOf(1), 1000);
  EXPECT_TRUE(store->get(Tier::Image, keyOf(1)));
  EXPECT_GT(store->list().at(0).lastUse,
            std::chrono::system_clock::now() - std::chrono::seconds(60));
}

} // namespace
