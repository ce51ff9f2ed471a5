#include "runtime/cache/store.h"
#include "runtime/cache/warning.h"
#include "tests/unit/cache/folder.h"

#include <gmock/gmock.h>

using namespace attnc;
using namespace attnc::cache;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// The environment has what a test sets, and afterwards what it had.
class UserStore : public testing::Test {
protected:
  static constexpr const char *names[] = {"ATTNC_CACHE", "ATTNC_CACHE_DIR", "ATTNC_CACHE_SIZE",
                                          "XDG_CACHE_HOME", "HOME"};

  void SetUp() override {
    setWarning([this](const Error &error) { warnings.push_back(error.text()); });
    for (const char *name : names) {
      const char *value = std::getenv(name);
      before.emplace_back(value ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    setWarning(nullptr);
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i])
        ::setenv(names[i], before[i]->c_str(), 1);
      else
        ::unsetenv(names[i]);
  }
  static void set(const char *name, const std::string &value) { ::setenv(name, value.c_str(), 1); }
  std::string directoryOfUser() {
    std::shared_ptr<Store> store = Store::ofUser();
    return store && store->folder() ? store->folder()->path() : "";
  }

  TestFolder folder;
  std::vector<std::optional<std::string>> before;
  std::vector<std::string> warnings;
};

TEST_F(UserStore, IsWhereTheEnvironmentSays) {
  EXPECT_EQ(Store::ofUser(), nullptr) << "no home";
  set("HOME", folder.path());
  EXPECT_EQ(directoryOfUser(), folder / ".cache/attnc");
  set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(directoryOfUser(), folder / ".cache/attnc");
  set("XDG_CACHE_HOME", folder / "xdg");
  EXPECT_EQ(directoryOfUser(), folder / "xdg/attnc");
  set("ATTNC_CACHE_DIR", folder / "mine");
  EXPECT_EQ(directoryOfUser(), folder / "mine");
  for (const char *no : {"off", "0"}) {
    set("ATTNC_CACHE", no);
    EXPECT_EQ(Store::ofUser(), nullptr);
  }
  set("ATTNC_CACHE", "on");
  EXPECT_NE(Store::ofUser(), nullptr);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(UserStore, IsOneForAllWhoAsk) {
  set("ATTNC_CACHE_DIR", folder / "mine");
  std::shared_ptr<Store> first = Store::ofUser();
  EXPECT_EQ(first, Store::ofUser());
  set("ATTNC_CACHE_SIZE", "1MiB");
  EXPECT_NE(first, Store::ofUser());
  EXPECT_EQ(Store::ofUser()->maxBytes(), 1u << 20);
}

TEST_F(UserStore, ASizeThatIsNoneGivesAWarning) {
  set("ATTNC_CACHE_DIR", folder / "mine");
  set("ATTNC_CACHE_SIZE", "many");
  EXPECT_EQ(Store::ofUser()->maxBytes(), defaultMaxBytes);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("'many' is no number of bytes")));
}

TEST_F(UserStore, WithoutADirectoryItStoresNothingAndSaysSoOnce) {
  writeTo(folder / "file", "");
  set("ATTNC_CACHE_DIR", folder / "file");
  for (int round = 0; round < 2; ++round) {
    std::shared_ptr<Store> store = Store::ofUser();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->folder(), nullptr);
    store->put(Tier::Image, keyOf(1), "value");
    EXPECT_EQ(store->get(Tier::Image, keyOf(1)), std::nullopt);
    Result<Store::Value> made = store->getOrMake(
        Tier::Image, keyOf(1), [] { return Result<Store::Value>(Store::Value{"made"}); });
    EXPECT_TRUE(made && made->bytes == "made" && made->source == Source::Made);
    EXPECT_TRUE(store->list().empty());
    EXPECT_EQ(store->verify().good, 0u);
    EXPECT_EQ(store->prune(0).removed, 0u);
    EXPECT_EQ(store->clear().removed, 0u);
    EXPECT_FALSE(store->importPack(folder / "file"));
    set("ATTNC_CACHE_SIZE", "1GiB"); // another store, the same trouble
  }
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("the cache is not used")));
}

} // namespace
