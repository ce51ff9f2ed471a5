// What a cache has to bear: deaths, full disks, other users, crowds.
#include "runtime/cache/store.h"
#include "runtime/cache/warning.h"
#include "tests/unit/cache/folder.h"
#include "tests/unit/cache/processes.h"

#include <atomic>
#include <cstring>
#include <gmock/gmock.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <thread>

using namespace attnc;
using namespace attnc::cache;
using testing::HasSubstr;

namespace {

class Abuse : public testing::Test {
protected:
  void SetUp() override {
    ::chmod(folder.path().c_str(), 0755);
    setWarning([this](const Error &error) { warnings.push_back(error.text()); });
  }
  void TearDown() override { setWarning(nullptr); }

  /// Makes the value of a number, and leaves a byte in a file for each time.
  Store::Make makes(std::int64_t number) const {
    return [this, number]() -> Result<Store::Value> {
      std::ofstream(log(number), std::ios::app) << 'x';
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return Store::Value{valueOf(number)};
    };
  }
  std::string log(std::int64_t number) const { return folder / ("made" + std::to_string(number)); }
  std::size_t timesMade(std::int64_t number) const { return contentOf(log(number)).size(); }

  /// As a process does: its own store.
  bool getsOrMakes(std::int64_t number) const {
    Result<Store::Value> made =
        openStore(directory)->getOrMake(Tier::Image, keyOf(number), makes(number));
    return made && made->bytes == valueOf(number);
  }

  TestFolder folder;
  std::string directory = folder / "cache";
  std::vector<std::string> warnings;
};

//===--- crowds -----------------------------------------------------------------------------===//

TEST_F(Abuse, SixteenProcessesMakeEightKeysOnceEach) {
  std::vector<pid_t> children;
  for (std::int64_t child = 0; child < 16; ++child)
    children.push_back(start([&, child] {
      bool good = true;
      for (std::int64_t i = 0; i < 8; ++i)
        good &= getsOrMakes((i + child) % 8);
      return good;
    }));
  for (pid_t child : children)
    EXPECT_TRUE(succeeded(child));
  for (std::int64_t number = 0; number < 8; ++number)
    EXPECT_EQ(timesMade(number), 1u) << "key " << number;
  EXPECT_EQ(openStore(directory)->verify().good, 8u);
  EXPECT_EQ(filesIn(directory + "/image"), 8u) << "nothing temporary is left";
}

TEST_F(Abuse, TwoBuildsSideBySideKeepApart) {
  auto keyOfBuild = [](const char *build, std::int64_t number) {
    return KeyBuilder().add("build", build).add("spec", number).finish();
  };
  std::vector<pid_t> children;
  for (const char *build : {"first", "second"})
    children.push_back(start([&, build] {
      std::shared_ptr<Store> store = openStore(directory);
      bool good = true;
      for (int round = 0; round < 2; ++round)
        for (std::int64_t number = 0; number < 8; ++number) {
          std::string value = build + valueOf(number);
          Result<Store::Value> made =
              store->getOrMake(Tier::Program, keyOfBuild(build, number),
                               [&] { return Result<Store::Value>(Store::Value{value}); });
          good &= made && made->bytes == value && (made->source == Source::Disk) == (round == 1);
        }
      return good;
    }));
  for (pid_t child : children)
    EXPECT_TRUE(succeeded(child));
  EXPECT_EQ(openStore(directory)->verify().good, 16u);
}

TEST_F(Abuse, PrunersReadersAndWritersDoNotDisturbEachOther) {
  std::vector<pid_t> children;
  for (std::int64_t child = 0; child < 6; ++child)
    children.push_back(start([&, child] {
      std::shared_ptr<Store> store = openStore(directory);
      bool good = true;
      for (std::int64_t i = 0; i < 60; ++i) {
        good &= getsOrMakes((i * (child + 1)) % 8);
        if (child == 0)
          store->clear();
        else if (child == 1)
          store->prune(2000);
      }
      return good && store->stats().counts.dropped == 0;
    }));
  for (pid_t child : children)
    EXPECT_TRUE(succeeded(child));
  EXPECT_EQ(openStore(directory)->verify().dropped, 0u);
}

//===--- deaths -----------------------------------------------------------------------------===//

/// Ends the process before its step with a number, or in the middle of it where it writes.
class DiesAtStep : public FileOperations {
public:
  explicit DiesAtStep(int step) : left(step) {}

  int makeDirectory(const std::string &path, mode_t mode) const override {
    return step(), FileOperations::makeDirectory(path, mode);
  }
  int open(const std::string &path, int flags, mode_t mode) const override {
    return step(), FileOperations::open(path, flags, mode);
  }
  ssize_t write(int file, const void *bytes, std::size_t count) const override {
    step();
    if (left == 1)
      FileOperations::write(file, bytes, count / 2);
    return step(), FileOperations::write(file, bytes, count);
  }
  int sync(int file) const override { return step(), FileOperations::sync(file); }
  int close(int file) const override { return step(), FileOperations::close(file); }
  int rename(const std::string &from, const std::string &to) const override {
    return step(), FileOperations::rename(from, to);
  }
  int lock(int file, std::int64_t byte, bool waits) const override {
    return step(), FileOperations::lock(file, byte, waits);
  }

private:
  void step() const {
    if (left-- == 1)
      ::kill(::getpid(), SIGKILL);
  }
  mutable int left;
};

TEST_F(Abuse, DeathAtAnyStepLeavesTheOldTheNewOrNothing) {
  int deaths = 0;
  for (bool isThere : {false, true})
    for (int step = 1, status = -1; status != 0; ++step) {
      ASSERT_LT(step, 100) << "it never comes to the end";
      std::filesystem::remove_all(directory);
      if (isThere)
        openStore(directory)->put(Tier::Image, keyOf(1), "old");
      status = statusOf(start([&] {
        StoreOptions options;
        options.directory = directory;
        options.files = std::make_shared<DiesAtStep>(step);
        Result<std::shared_ptr<Store>> store = Store::open(options);
        if (!store)
          return false;
        (*store)->put(Tier::Image, keyOf(1), valueOf(1));
        return (*store)->getOrMake(Tier::Image, keyOf(2), makes(2)).ok();
      }));
      ASSERT_TRUE(status == 0 || wasKilled(status)) << status;
      deaths += status != 0;
      std::shared_ptr<Store> store = openStore(directory);
      std::string found = store->get(Tier::Image, keyOf(1)).value_or("nothing");
      EXPECT_TRUE(found == valueOf(1) || found == (isThere ? "old" : "nothing")) << "step " << step;
      EXPECT_TRUE(getsOrMakes(2)) << "no lock is left";
      EXPECT_EQ(store->stats().counts.dropped + store->verify().dropped, 0u) << "step " << step;
      for (const auto &file : std::filesystem::directory_iterator(directory + "/image"))
        setAge(file.path(), 3600);
      store->prune(defaultMaxBytes);
      EXPECT_EQ(filesIn(directory + "/image"), store->list().size()) << "step " << step;
    }
  EXPECT_GT(deaths, 20);
}

TEST_F(Abuse, WhoWaitsForTheDeadMakesItself) {
  Signal isInside;
  pid_t owner = start([&] {
    (void)openStore(directory)->getOrMake(Tier::Image, keyOf(1), [&]() -> Result<Store::Value> {
      isInside.give();
      ::pause();
      return Store::Value();
    });
    return false;
  });
  isInside.await();
  std::vector<pid_t> waiting;
  for (int i = 0; i < 4; ++i)
    waiting.push_back(start([&] { return getsOrMakes(1); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(timesMade(1), 0u) << "they wait";
  ::kill(owner, SIGKILL);
  EXPECT_TRUE(wasKilled(statusOf(owner)));
  for (pid_t child : waiting)
    EXPECT_TRUE(succeeded(child));
  EXPECT_EQ(timesMade(1), 1u);
}

// A child that was forked while its parent made something has the parent's open files.
TEST_F(Abuse, AForkedChildDoesNotKeepTheLockOfItsDeadParent) {
  Signal hasForked, isOver;
  pid_t owner = start([&] {
    (void)openStore(directory)->getOrMake(Tier::Image, keyOf(1), [&]() -> Result<Store::Value> {
      start([&] { return isOver.await(), true; });
      hasForked.give();
      ::pause();
      return Store::Value();
    });
    return false;
  });
  hasForked.await();
  ::kill(owner, SIGKILL);
  EXPECT_TRUE(wasKilled(statusOf(owner)));
  EXPECT_TRUE(succeeded(start([&] { return getsOrMakes(1); })));
  isOver.give();
}

// Its threads are gone, and so is whoever would land.
TEST_F(Abuse, AForkedChildMakesWhatAThreadOfItsParentWasMaking) {
  std::shared_ptr<Store> store = openStore(directory);
  Signal isInside, goOn;
  std::jthread maker([&] {
    (void)store
        ->getOrMake(Tier::Image, keyOf(1),
                    [&]() -> Result<Store::Value> {
                      isInside.give();
                      goOn.await();
                      return Store::Value{valueOf(1)};
                    })
        .ok();
  });
  isInside.await();
  pid_t child = start([&] {
    Result<Store::Value> made = store->getOrMake(Tier::Image, keyOf(1), makes(1));
    return made && made->bytes == valueOf(1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  goOn.give();
  EXPECT_TRUE(succeeded(child));
}

//===--- disks that fail --------------------------------------------------------------------===//

/// One call fails, and all that follow if it says so.
class FailsAtStep : public FileOperations {
public:
  FailsAtStep(int step, int why, bool forGood) : left(step), why(why), forGood(forGood) {}

  int open(const std::string &path, int flags, mode_t mode) const override {
    return fails() ? -1 : FileOperations::open(path, flags, mode);
  }
  ssize_t write(int file, const void *bytes, std::size_t count) const override {
    return fails() ? -1 : FileOperations::write(file, bytes, count);
  }
  int sync(int file) const override { return fails() ? -1 : FileOperations::sync(file); }
  int rename(const std::string &from, const std::string &to) const override {
    return fails() ? -1 : FileOperations::rename(from, to);
  }
  int remove(const std::string &path) const override {
    return fails() ? -1 : FileOperations::remove(path);
  }
  int lock(int file, std::int64_t byte, bool waits) const override {
    return fails() ? -1 : FileOperations::lock(file, byte, waits);
  }
  bool hasFailed() const { return left <= 0; }

private:
  bool fails() const {
    --left;
    errno = why;
    return left == 0 || (forGood && left < 0);
  }
  mutable std::atomic<int> left;
  const int why;
  const bool forGood;
};

TEST_F(Abuse, AnyCallMayFailAndAllIsRight) {
  for (int why : {ENOSPC, EIO, EACCES, ENOLCK, EROFS})
    for (bool forGood : {false, true})
      for (int step = 1;; ++step) {
        ASSERT_LT(step, 100) << "it never comes to the end";
        std::filesystem::remove_all(directory);
        int told = 0;
        setWarning([&](const Error &) { ++told; });
        auto files = std::make_shared<FailsAtStep>(step, why, forGood);
        std::shared_ptr<Store> store = openStore(directory, files);
        for (int round = 0; round < 2; ++round)
          for (std::int64_t number = 0; number < 2; ++number) {
            Result<Store::Value> made =
                store->getOrMake(Tier::Image, keyOf(number), [&]() -> Result<Store::Value> {
                  return Store::Value{valueOf(number)};
                });
            EXPECT_TRUE(made && made->bytes == valueOf(number));
          }
        EXPECT_LE(told, 1) << "step " << step << ", " << std::strerror(why);
        EXPECT_EQ(openStore(directory)->verify().dropped, 0u) << "step " << step;
        if (!files->hasFailed())
          break;
      }
}

TEST_F(Abuse, WithoutLocksTheCacheWorksAndSaysSo) {
  class NoLocks : public FileOperations {
    int lock(int, std::int64_t, bool) const override {
      errno = ENOLCK;
      return -1;
    }
  };
  std::shared_ptr<Store> store = openStore(directory, std::make_shared<NoLocks>());
  for (bool fromDisk : {false, true}) {
    Result<Store::Value> made = store->getOrMake(Tier::Image, keyOf(1), makes(1));
    EXPECT_TRUE(made && (made->source == Source::Disk) == fromDisk);
  }
  EXPECT_TRUE(getsOrMakes(2));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("no locks"));
}

/// Runs `work` where `prepare` has changed what is mounted, for it alone. Nothing: that takes root.
std::optional<bool> withMounts(const std::function<bool()> &prepare,
                               const std::function<bool()> &work) {
  int status = statusOf(start([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        !prepare())
      ::_exit(77);
    return work();
  }));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    return std::nullopt;
  return status == 0;
}

TEST_F(Abuse, AFullDiskKeepsNothingAndBreaksNothing) {
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms(0700));
  std::optional<bool> good = withMounts(
      [&] { return ::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=64k,mode=700") == 0; },
      [&] {
        int told = 0;
        setWarning([&](const Error &error) {
          told += error.text().find("No space left") != std::string::npos;
        });
        std::shared_ptr<Store> store = openStore(directory);
        bool right = true;
        for (std::int64_t number = 0; number < 40; ++number)
          right &= getsOrMakes(number);
        std::uint64_t kept = store->list().size();
        VerifyReport report = store->verify();
        return right && told == 1 && kept > 2 && kept < 40 && report.dropped == 0 &&
               filesIn(directory + "/image") == kept;
      });
  EXPECT_TRUE(good.value_or(true)); // without root the injected failures stand for it
}

TEST_F(Abuse, ADiskThatIsOnlyReadGivesWhatItHas) {
  ASSERT_TRUE(getsOrMakes(1));
  std::optional<bool> good = withMounts(
      [&] {
        return ::mount(directory.c_str(), directory.c_str(), "", MS_BIND, nullptr) == 0 &&
               ::mount("", directory.c_str(), "", MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
      },
      [&] {
        int told = 0;
        setWarning([&](const Error &error) {
          told += error.text().find("Read-only file system") != std::string::npos;
        });
        bool right = getsOrMakes(1) && told == 0;
        for (int round = 0; round < 2; ++round)
          right &= getsOrMakes(2);
        return right && told == 1 && timesMade(1) == 1 && timesMade(2) == 2;
      });
  EXPECT_TRUE(good.value_or(true));
}

//===--- users ------------------------------------------------------------------------------===//

/// Runs as another user, where this one is root; else as this one.
bool asNobody(const std::function<bool()> &work) {
  return succeeded(start([&] {
    if (::geteuid() == 0) {
      const passwd *nobody = ::getpwnam("nobody");
      if (!nobody || ::setgid(nobody->pw_gid) != 0 || ::setuid(nobody->pw_uid) != 0)
        return false;
    }
    return work();
  }));
}

TEST_F(Abuse, ADirectoryOfAnotherUserIsNotUsed) {
  ASSERT_TRUE(getsOrMakes(1));
  if (::geteuid() != 0) { // nobody else's directory can be made, but / is root's
    Result<std::shared_ptr<Store>> store = Store::open({"/"});
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().text(), HasSubstr("belongs to the user 0"));
    return;
  }
  EXPECT_TRUE(asNobody([&] {
    Result<std::shared_ptr<Store>> store = Store::open({directory});
    return !store && store.error().message.find("belongs to the user 0") != std::string::npos;
  }));
  // Nor is one that the other user has prepared for root.
  std::string trap = folder / "trap";
  std::filesystem::create_directory(trap);
  ASSERT_EQ(::chown(trap.c_str(), ::getpwnam("nobody")->pw_uid, ::getgid()), 0);
  EXPECT_FALSE(Store::open({trap}));
}

// As in a container, into which root has put a cache.
TEST_F(Abuse, WhatRootHasPreparedIsReadByOthers) {
  if (::geteuid() != 0)
    return; // nothing of root's can be prepared
  ASSERT_TRUE(getsOrMakes(1));
  for (const auto &file : std::filesystem::recursive_directory_iterator(directory))
    ASSERT_EQ(::chmod(file.path().c_str(), file.is_directory() ? 0755 : 0644), 0);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  EXPECT_TRUE(asNobody([&] {
    ::setenv("ATTNC_CACHE_DIR", directory.c_str(), 1);
    return Store::ofUser()->get(Tier::Image, keyOf(1)) == valueOf(1);
  }));
}

TEST_F(Abuse, ADirectoryThatMayNotBeWrittenGivesWhatItHas) {
  ASSERT_TRUE(getsOrMakes(1));
  std::vector<std::string> all = {directory};
  for (const auto &file : std::filesystem::recursive_directory_iterator(directory))
    all.push_back(file.path());
  for (const std::string &path : all) {
    bool isFolder = std::filesystem::is_directory(path);
    if (::geteuid() == 0) {
      const passwd *nobody = ::getpwnam("nobody");
      ASSERT_TRUE(nobody && ::chown(path.c_str(), nobody->pw_uid, nobody->pw_gid) == 0);
    }
    ASSERT_EQ(::chmod(path.c_str(), isFolder ? 0500 : 0400), 0);
  }
  EXPECT_TRUE(asNobody([&] {
    int told = 0;
    setWarning([&](const Error &) { ++told; });
    std::shared_ptr<Store> store = openStore(directory);
    std::atomic<int> made = 0;
    auto make = [&]() -> Result<Store::Value> { return ++made, Store::Value{valueOf(2)}; };
    bool right = store->get(Tier::Image, keyOf(1)) == valueOf(1) && told == 0;
    for (int round = 0; round < 2; ++round)
      right &= store->getOrMake(Tier::Image, keyOf(2), make)->bytes == valueOf(2);
    return right && told == 1 && made == 2;
  }));
  std::filesystem::permissions(directory, std::filesystem::perms(0700));
  std::filesystem::permissions(directory + "/image", std::filesystem::perms(0700));
  std::filesystem::permissions(directory + "/program", std::filesystem::perms(0700));
}

} // namespace
