#include "runtime/cache/store.h"
#include "tests/unit/cache/folder.h"

#include <gmock/gmock.h>
#include <random>

using namespace attnc;
using namespace attnc::cache;
using testing::HasSubstr;

namespace {

class PackTest : public testing::Test {
protected:
  void SetUp() override {
    for (std::int64_t i = 0; i < 4; ++i)
      from->put(i % 2 ? Tier::Image : Tier::Program, keyOf(i), valueOf(i, 300));
  }

  TestFolder folder;
  std::shared_ptr<Store> from = openStore(folder / "from"), to = openStore(folder / "to");
  std::string pack = folder / "kernels.pack";
};

TEST_F(PackTest, CarriesEntriesToAnotherDirectory) {
  Result<PackReport> written = from->exportPack(pack);
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(written->entries, 4u);
  to->put(Tier::Image, keyOf(1), valueOf(1, 300));
  Result<PackReport> read = to->importPack(pack);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->entries, 3u);
  EXPECT_EQ(read->present, 1u);
  EXPECT_EQ(read->refused, 0u);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(to->get(i % 2 ? Tier::Image : Tier::Program, keyOf(i)), valueOf(i, 300));
}

TEST_F(PackTest, EqualEntriesGiveEqualBytes) {
  ASSERT_TRUE(from->exportPack(pack));
  ASSERT_TRUE(to->importPack(pack));
  ASSERT_TRUE(to->exportPack(folder / "again.pack"));
  EXPECT_EQ(contentOf(pack), contentOf(folder / "again.pack"));
}

TEST_F(PackTest, HoldsWhatTheFilterLetsPass) {
  Result<PackReport> written =
      from->exportPack(pack, [](const EntryInfo &entry) { return entry.tier == Tier::Image; });
  ASSERT_TRUE(written);
  EXPECT_EQ(written->entries, 2u);
  ASSERT_TRUE(to->importPack(pack));
  EXPECT_EQ(to->get(Tier::Program, keyOf(0)), std::nullopt);
  EXPECT_EQ(to->get(Tier::Image, keyOf(1)), valueOf(1, 300));
}

TEST_F(PackTest, DamagedEntriesAreLeftOut) {
  writeTo(folder.path() + "/from/image/" + keyOf(1), "damaged");
  Result<PackReport> written = from->exportPack(pack);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->entries, 3u);
}

TEST_F(PackTest, AnyByteChangedLeavesEntriesOutOrIsAnError) {
  ASSERT_TRUE(from->exportPack(pack));
  const std::string good = contentOf(pack);
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    std::size_t at = round < 100 ? static_cast<std::size_t>(round) : random() % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ (1 + random() % 255));
    writeTo(pack, bad);
    to->clear();
    Result<PackReport> read = to->importPack(pack);
    EXPECT_TRUE(!read || read->entries == 3) << "byte " << at;
    for (const EntryInfo &entry : to->list()) // what has arrived is right
      EXPECT_EQ(to->get(entry.tier, entry.key), from->get(entry.tier, entry.key));
  }
}

TEST_F(PackTest, CutOffAnywhereIsAnError) {
  ASSERT_TRUE(from->exportPack(pack));
  const std::string good = contentOf(pack);
  for (std::size_t size = 0; size < good.size(); size += 11) {
    writeTo(pack, good.substr(0, size));
    Result<PackReport> read = to->importPack(pack);
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().kind, ErrorKind::InvalidArgument);
    EXPECT_THAT(read.error().message, HasSubstr(pack));
  }
}

TEST_F(PackTest, GarbageIsAnError) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    std::string garbage = round % 2 ? "attncpak" + std::string("\1\0\0\0\0\0\0\0", 8) : "";
    for (std::size_t i = random() % 2000; i > 0; --i)
      garbage += static_cast<char>(random());
    writeTo(pack, garbage + "x");
    EXPECT_FALSE(to->importPack(pack));
  }
  EXPECT_TRUE(to->list().empty());
}

TEST_F(PackTest, ThatIsNotThereOrCannotBeWrittenIsNamed) {
  Result<PackReport> none = to->importPack(folder / "none.pack");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::Environment);
  EXPECT_THAT(none.error().message, HasSubstr("none.pack"));
  EXPECT_FALSE(to->importPack(folder.path())) << "a folder is no pack";
  Result<PackReport> nowhere = from->exportPack(folder / "nowhere/kernels.pack");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::Environment);
}

} // namespace
