#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/choice/nest_key.h"
#include "compiler/schedule/choice/tuning_update.h"
#include "tests/unit/schedule/library_nest.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attnc::schedule {
namespace {

using testing::HasSubstr;

TunedSchedule entry(const std::string &key, double milliseconds, int64_t groups = 2) {
  return {key,          "sm_90a",
          "full_o",     {{"form", "warpgroups"}, {"groups", groups}},
          milliseconds, {{"b", 4}, {"i", 4096}},
          "2026-11-21", "13.0"};
}

TuningFile fileWith(const TunedSchedule &one) {
  TuningFile file{"NVIDIA H100 80GB HBM3", 132, {}};
  file.put(one);
  return file;
}

class OnDisk : public testing::Test {
protected:
  OnDisk() : folder(testing::TempDir() + "/attnc_tuning_" + std::to_string(::getpid())) {}
  ~OnDisk() override { std::filesystem::remove_all(folder); }
  std::string path() const { return folder + "/deep/file.json"; }

  std::string folder;
};

TEST(TuningFile, itsTextReadsBack) {
  TuningFile file = fileWith(entry("k", 0.5));
  Result<TuningFile> read = parseTuningFile(file.text());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text(), file.text());
  EXPECT_EQ(read->device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(read->multiprocessors, 132);
  ASSERT_EQ(read->entries.size(), 1u);
  EXPECT_EQ(read->entries[0].schedule.at("groups"), 2);
  EXPECT_EQ(read->entries[0].shape.at("i"), 4096);
}

TEST(TuningFile, aNewWinnerTakesTheOldOnesPlace) {
  TuningFile file = fileWith(entry("k", 0.5));
  file.put(entry("other", 0.1));
  file.put(entry("k", 0.4, 3));
  ASSERT_EQ(file.entries.size(), 2u);
  EXPECT_EQ(file.entries.back().schedule.at("groups"), 3);
}

TEST(TuningFile, damageIsSaid) {
  std::string text = fileWith(entry("k", 0.5)).text();
  for (const std::string &damaged :
       {text.substr(0, text.size() / 2), std::string(), std::string("[]"), std::string("\xff"),
        std::string(200000, '[') + std::string(200000, ']'),
        std::string(R"({"attnc_tuning": 1, "device": 5, "multiprocessors": 1, "entries": []})"),
        std::string(
            R"({"attnc_tuning": 1, "device": "d", "multiprocessors": 1, "entries": [5]})")}) {
    Result<TuningFile> read = parseTuningFile(damaged);
    ASSERT_FALSE(read) << damaged;
    EXPECT_THAT(read.error().message, HasSubstr("not a tuning file"));
  }
  Result<TuningFile> later = parseTuningFile(R"({"attnc_tuning": 2})");
  ASSERT_FALSE(later);
  EXPECT_THAT(later.error().message, HasSubstr("version 2"));
}

TEST(TuningFile, isNamedAfterTheDevice) {
  EXPECT_EQ(tuningFileName("NVIDIA H100 80GB HBM3", 132), "nvidia-h100-80gb-hbm3-132.json");
  EXPECT_EQ(tuningFileName("../x", 1), "x-1.json");
}

TEST(TuningFile, theCompilersOwnAreWhole) {
  ASSERT_FALSE(builtinTuningFiles().empty());
  for (const auto &[name, file] : builtinTuningFiles()) {
    EXPECT_EQ(name, tuningFileName(file.device, file.multiprocessors));
    for (const TunedSchedule &one : file.entries) {
      EXPECT_NE(findGpuModel(one.target), nullptr) << one.kernel;
      EXPECT_GT(one.milliseconds, 0) << one.kernel;
    }
  }
}

TEST_F(OnDisk, aSavedFileLoads) {
  Result<std::optional<TuningFile>> none = loadTuningFile(path());
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  TuningFile file = fileWith(entry("k", 0.5));
  ASSERT_TRUE(saveTuningFile(path(), file));
  Result<std::optional<TuningFile>> read = loadTuningFile(path());
  ASSERT_TRUE(read && read->has_value());
  EXPECT_EQ((*read)->text(), file.text());
  size_t files = 0;
  for ([[maybe_unused]] const auto &one : std::filesystem::directory_iterator(folder + "/deep"))
    ++files;
  EXPECT_EQ(files, 1u) << "nothing temporary is left";
}

TEST_F(OnDisk, manyThatStoreAtOnceLoseNothing) {
  constexpr int writers = 4, rounds = 10;
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    pid_t child = ::fork();
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < rounds; ++round)
        good &= changeTuningFile(path(), [&](std::optional<TuningFile> old) {
                  TuningFile file = old ? *old : TuningFile{"NVIDIA H100 80GB HBM3", 132, {}};
                  file.put(entry(std::to_string(writer) + " " + std::to_string(round), 0.5));
                  return Result<TuningFile>(file);
                }).ok();
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Result<std::optional<TuningFile>> read = loadTuningFile(path());
  ASSERT_TRUE(read && read->has_value());
  EXPECT_EQ((*read)->entries.size(), static_cast<size_t>(writers * rounds));
}

TEST_F(OnDisk, aChangeThatFailsLeavesTheFile) {
  ASSERT_TRUE(saveTuningFile(path(), fileWith(entry("k", 0.5))));
  Status status = changeTuningFile(path(), [](std::optional<TuningFile>) {
    return Result<TuningFile>(invalidArgument("of another device"));
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "of another device");
  EXPECT_EQ((*loadTuningFile(path()))->entries.size(), 1u);
}

TEST_F(OnDisk, aDamagedFileIsNamed) {
  std::filesystem::create_directories(folder + "/deep");
  std::ofstream(path()) << "{";
  Result<std::optional<TuningFile>> read = loadTuningFile(path());
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr(path()));
}

TEST_F(OnDisk, whatCannotBeWrittenIsSaid) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/deep") << "a file, not a folder";
  Status status = saveTuningFile(path(), fileWith(entry("k", 0.5)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::Environment);
  EXPECT_THAT(status.error().message, HasSubstr(path()));
}

TEST(TuningDatabase, theFirstFileThatKnowsANestAnswers) {
  TuningDatabase database;
  database.add("mine", fileWith(entry("k", 0.5, 1)));
  database.add("theirs", fileWith(entry("k", 0.4, 2)));
  std::string origin;
  const TunedSchedule *found = database.find("k", "sm_90a", origin);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->schedule.at("groups"), 1);
  EXPECT_EQ(origin, "mine (0.500 ms on NVIDIA H100 80GB HBM3, 2026-11-21)");
  EXPECT_EQ(database.find("k", "sm_80", origin), nullptr);
  EXPECT_EQ(database.find("other", "sm_90a", origin), nullptr);
}

class Choice : public testing::Test {
protected:
  std::string choose(const TunedSchedule &one, const nlohmann::json &overrides = nullptr) {
    TuningDatabase database;
    database.add("mine", fileWith(one));
    Status status = chooseSchedules(of.program.fused(), "sm_90a", overrides, &database);
    EXPECT_TRUE(status) << status.error().message;
    auto source = of.nest->getAttrOfType<mlir::StringAttr>(kScheduleSourceAttr);
    return source ? source.getValue().str() : "";
  }
  WarpgroupSchedule now() {
    return *tile::scheduleAs<WarpgroupSchedule>(of.nest.getScheduleAttr());
  }

  LibraryNest of{"full", 128};
};

TEST_F(Choice, whatWasMeasuredComesBeforeThePrediction) {
  TunedSchedule one = entry(nestKey(of.nest), 0.5);
  one.schedule["stream_tile"] = 112;
  EXPECT_THAT(choose(one), HasSubstr("tuning database: mine"));
  EXPECT_EQ(now().groups, 2);
  EXPECT_EQ(now().streamTile, 112);
}

TEST_F(Choice, anEntryOfAnotherNestIsNotTaken) { EXPECT_EQ(choose(entry("k", 0.5)), ""); }

TEST_F(Choice, anEntryThatDoesNotFitIsSaidAndLeftOut) {
  TunedSchedule one = entry(nestKey(of.nest), 0.5);
  one.schedule["stream_tile"] = 17;
  EXPECT_THAT(choose(one), HasSubstr("refused: schedule: stream_tile is 17"));
  EXPECT_NE(now().streamTile, 17);
}

TEST_F(Choice, theUserComesFirst) {
  EXPECT_EQ(choose(entry(nestKey(of.nest), 0.5), {{"groups", 3}}), "as asked for");
  EXPECT_EQ(now().groups, 3);
}

} // namespace
} // namespace attnc::schedule
