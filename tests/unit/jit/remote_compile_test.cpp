#include "compiler/jit/build_id.h"
#include "compiler/jit/compile_program.h"
#include "compiler/jit/open_program.h"
#include "compiler/jit/program_key.h"
#include "compiler/jit/remote_compile.h"
#include "tests/unit/cache/folder.h"
#include "tests/unit/jit/parsed_spec.h"

#include <condition_variable>
#include <fstream>
#include <gmock/gmock.h>
#include <thread>

using namespace attnc;
using namespace attnc::test;
using testing::HasSubstr;

namespace {

/// A service that answers as a test wants.
class FakeService : public cache::RemoteTier {
public:
  std::optional<std::string> get(cache::Tier, const std::string &) override { return std::nullopt; }
  void put(cache::Tier, const std::string &, std::string_view) override { ++puts; }
  std::optional<Result<std::string>> compile(const std::string &request, const std::string &build,
                                             const std::string &key, Error &unreached) override {
    std::unique_lock lock(mutex);
    requests.push_back(nlohmann::json::parse(request));
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20),
                                 [&] { return requests.size() >= waitsFor; }));
    EXPECT_EQ(build, buildId());
    unreached = why;
    if (!answer)
      return std::nullopt;
    return *answer ? Result<std::string>(cache::encodeEntry(cache::Tier::Program, key, **answer))
                   : *answer;
  }

  std::optional<Result<std::string>> answer;
  Error why;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<nlohmann::json> requests;
  std::size_t waitsFor = 0; ///< requests, before it answers one
  int puts = 0;
};

class RemoteCompile : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("ATTNC_NVRTC", "/none", 1);
    gpu.target = "sm_90a";
    gpu.images = std::make_shared<const ImageCompiler>();
  }
  void TearDown() override { ::unsetenv("ATTNC_NVRTC"); }

  Result<ReadyProgram> compile(const ParsedSpec &spec, const driver::CompileOptions &options) {
    cache::StoreOptions store;
    store.directory = folder.path();
    store.remote = service;
    return compileProgram(*spec.spec, options, cache::Store::open(store)->get());
  }
  /// The bytes of a program that opens here.
  static std::string someProgram() {
    Result<ReadyProgram> cpu = compileProgram(*ParsedSpec().spec, {}, nullptr);
    return *serializeProgram(*completed(cpu->compilation));
  }

  const cache::TestFolder folder;
  const std::shared_ptr<FakeService> service = std::make_shared<FakeService>();
  driver::CompileOptions gpu;
  ParsedSpec parsed;
};

TEST_F(RemoteCompile, AsksForAllThatTheKeyDependsOn) {
  schedule::TuningDatabase tuned;
  schedule::TuningFile file;
  file.device = "a GPU";
  tuned.add("measured here", file);
  gpu.tuned = &tuned;
  gpu.schedule = {{"rows", 64}};
  gpu.memoryBudget = 1000;
  gpu.keepTexts = false;
  ParsedSpec set(softmaxSpec, "/a/folder/softmax.json", {{{"d", "32"}}});
  EXPECT_EQ(nlohmann::json::parse(compileRequest(*set.spec, gpu)),
            nlohmann::json({{"build", buildId()},
                            {"name", "softmax.json"},
                            {"text", softmaxSpec},
                            {"target", "sm_90a"},
                            {"set", {{"d", "32"}}},
                            {"schedule", {{"rows", 64}}},
                            {"tuned", {{{"origin", "measured here"}, {"text", file.text()}}}},
                            {"memory_budget", 1000},
                            {"keep_texts", false}}));
}

TEST_F(RemoteCompile, IsForGpusWithoutNvrtcAlone) {
  EXPECT_TRUE(lacksNvrtc(gpu));
  EXPECT_FALSE(lacksNvrtc({}));
  parsed.spec->text.clear(); // as of a .mlir file
  EXPECT_FALSE(compile(parsed, gpu));
  EXPECT_TRUE(service->requests.empty());
}

TEST_F(RemoteCompile, AsksAlsoForASpecWithAWrongByteInAComment) {
  std::string text = softmaxSpec;
  text.insert(text.find('\n'), " // caf\xe9");
  EXPECT_TRUE(nlohmann::json::accept(compileRequest(*ParsedSpec(text).spec, gpu)));
}

TEST_F(RemoteCompile, WhatOldImagesMakeIsGivenWholeOrNotAtAll) {
  ::unsetenv("ATTNC_NVRTC");
  cache::StoreOptions options;
  options.directory = folder.path();
  std::shared_ptr<cache::Store> images = *cache::Store::open(options);
  gpu.images = std::make_shared<const ImageCompiler>(images);
  if (lacksNvrtc(gpu))
    GTEST_SKIP() << "no NVRTC";
  Result<ReadyProgram> made = compile(parsed, gpu);
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_TRUE(made->compilation.deferred) << "the test needs kernels that wait";
  EXPECT_EQ(service->puts, 1);
  auto compileFromImages = [&] {
    ::setenv("ATTNC_NVRTC", "/none", 1);
    gpu.images = std::make_shared<const ImageCompiler>(images);
    Result<ReadyProgram> ready = compile(parsed, gpu);
    ::unsetenv("ATTNC_NVRTC");
    return ready && ready->source == cache::Source::Made;
  };
  EXPECT_TRUE(compileFromImages());
  EXPECT_EQ(service->puts, 1) << "what waits for its first use could not be made";
  for (const cache::EntryInfo &entry : images->list())
    if (entry.tier == cache::Tier::Program)
      images->folder()->remove(entry.tier, entry.key);
  ASSERT_TRUE(warmUp(made->compilation)); // its images are there now
  EXPECT_TRUE(compileFromImages());
  EXPECT_EQ(service->puts, 2);
}

TEST_F(RemoteCompile, ItsProgramIsOnDiskThen) {
  service->answer = Result<std::string>(someProgram());
  Result<ReadyProgram> first = compile(parsed, gpu);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->source, cache::Source::Remote);
  EXPECT_EQ(*serializeProgram(*completed(first->compilation)), **service->answer);
  Result<ReadyProgram> second = compile(parsed, gpu);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->source, cache::Source::Disk);
  EXPECT_EQ(service->requests.size(), 1u);
  EXPECT_EQ(service->puts, 0) << "the service has it";
}

TEST_F(RemoteCompile, NobodyWaitsForTheServiceOfAnother) {
  service->answer = Result<std::string>(someProgram());
  service->waitsFor = 2; // a lock over the first would keep the second one from it
  std::vector<std::jthread> processes;
  for (int i = 0; i < 2; ++i)
    processes.emplace_back([this] {
      Result<ReadyProgram> ready = compile(ParsedSpec(), gpu);
      EXPECT_TRUE(ready && ready->source == cache::Source::Remote);
    });
}

TEST_F(RemoteCompile, ReplacesAnNvrtcThatIsOfNoUse) {
  std::string file = folder / "libnvrtc.so";
  std::ofstream(file) << "no library";
  ::setenv("ATTNC_NVRTC", file.c_str(), 1);
  gpu.images = std::make_shared<const ImageCompiler>();
  EXPECT_FALSE(lacksNvrtc(gpu));
  service->answer = Result<std::string>(someProgram());
  Result<ReadyProgram> ready = compile(parsed, gpu);
  ASSERT_TRUE(ready) << ready.error().text();
  EXPECT_EQ(ready->source, cache::Source::Remote);
}

TEST_F(RemoteCompile, ItsErrorIsTheSpecs) {
  service->answer = Result<std::string>(invalidArgument("it took longer than 60 s", "less"));
  Result<ReadyProgram> failed = compile(parsed, gpu);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "it took longer than 60 s");
}

TEST_F(RemoteCompile, WithoutItTheErrorSaysBoth) {
  service->why = environmentError("http://a: Couldn't connect", "start it");
  Result<ReadyProgram> failed = compile(parsed, gpu);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("NVRTC, the CUDA compiler library, was not found"));
  EXPECT_THAT(failed.error().message,
              HasSubstr("nor was it compiled elsewhere: http://a: Couldn't connect"));
  EXPECT_EQ(failed.error().remedy, "start it");
}

} // namespace
