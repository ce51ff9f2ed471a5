// One job, in this process: what the store has, and what is no answer.
#include "compiler/jit/compile_program.h"
#include "compiler/jit/open_program.h"
#include "compiler/jit/program_key.h"
#include "tests/unit/cache/folder.h"
#include "tests/unit/jit/parsed_spec.h"
#include "tests/unit/service/requests.h"
#include "tools/attncd/workers/compile_job.h"

#include <gmock/gmock.h>

using namespace attnc;
using namespace attnc::service;

namespace {

class CompileJob : public testing::Test {
protected:
  void SetUp() override {
    Result<std::shared_ptr<cache::Store>> store = cache::Store::open({.directory = folder.path()});
    ASSERT_TRUE(store) << store.error().text();
    place.store = *store;
    place.images = std::make_shared<const ImageCompiler>(*store);
    hasNvrtc = place.images->nvrtc().ok();
  }
  CompileAnswer run() {
    return compileJob(requestFor(test::softmaxSpec), {}, place,
                      [this](const std::string &stage) { stages.push_back(stage); });
  }
  Program programOf(const CompileAnswer &answer) {
    Result<std::string> bytes = cache::decodeEntry(cache::Tier::Program, answer.key, answer.entry);
    Result<Program> program = bytes ? deserializeProgram(*bytes) : bytes.error();
    EXPECT_TRUE(program) << program.error().text();
    return program ? *program : Program();
  }

  cache::TestFolder folder;
  JobPlace place;
  bool hasNvrtc = false;
  std::vector<std::string> stages;
};

TEST_F(CompileJob, BeginsByParsing) {
  run();
  ASSERT_FALSE(stages.empty());
  EXPECT_EQ(stages.front(), "parsing");
}

TEST_F(CompileJob, WhatTheStoreHasIsNotCompiled) {
  if (!hasNvrtc)
    GTEST_SKIP() << "NVRTC is not here";
  CompileAnswer first = run();
  ASSERT_FALSE(first.failure) << first.failure->message;
  stages.clear();
  CompileAnswer second = run();
  EXPECT_EQ(second.from, "disk");
  EXPECT_EQ(second.entry, first.entry);
  EXPECT_THAT(stages, testing::ElementsAre("parsing", "cache"));
}

TEST_F(CompileJob, AProgramThatWaitsForItsFirstUseIsNoAnswer) {
  if (!hasNvrtc)
    GTEST_SKIP() << "NVRTC is not here";
  CompileAnswer whole = run();
  ASSERT_FALSE(whole.failure) << whole.failure->message;
  test::ParsedSpec parsed;
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.images = place.images;
  Result<ReadyProgram> waiting = compileProgram(*parsed.spec, options, nullptr);
  ASSERT_TRUE(waiting) << waiting.error().text();
  ASSERT_TRUE(waiting->compilation.deferred);
  for (const std::string &stored :
       {*serializeProgram(storable(waiting->compilation)), std::string("no program")}) {
    place.store->put(cache::Tier::Program, whole.key, stored);
    CompileAnswer answer = run();
    ASSERT_FALSE(answer.failure) << answer.failure->message;
    for (const Image &image : programOf(answer).images)
      EXPECT_NE(image.kind, ImageKind::Cuda) << image.name;
    EXPECT_EQ(answer.entry, whole.entry);
  }
}

TEST_F(CompileJob, WithoutAStoreItIsCompiled) {
  if (!hasNvrtc)
    GTEST_SKIP() << "NVRTC is not here";
  place = {nullptr, std::make_shared<const ImageCompiler>()};
  CompileAnswer answer = run();
  ASSERT_FALSE(answer.failure) << answer.failure->message;
  EXPECT_EQ(answer.from, "compiler");
  EXPECT_EQ(programOf(answer).manifest.name, "softmax");
}

/// Without NVRTC, while it lives.
class NoNvrtc {
public:
  NoNvrtc() {
    if (const char *chosen = std::getenv("ATTNC_NVRTC"))
      before = chosen;
    ::setenv("ATTNC_NVRTC", "/none", 1);
  }
  ~NoNvrtc() {
    if (before)
      ::setenv("ATTNC_NVRTC", before->c_str(), 1);
    else
      ::unsetenv("ATTNC_NVRTC");
  }

private:
  std::optional<std::string> before;
};

// A client without NVRTC holds it until it has the answer.
TEST_F(CompileJob, WithoutNvrtcNothingWaitsForTheLockOfItsKey) {
  NoNvrtc none;
  place.images = std::make_shared<const ImageCompiler>(place.store);
  test::ParsedSpec parsed;
  schedule::TuningDatabase tuned;
  schedule::addBuiltinTuning(tuned);
  driver::CompileOptions options;
  options.target = "sm_90a";
  options.tuned = &tuned;
  std::shared_ptr<cache::Store> client = *cache::Store::open({.directory = folder.path()});
  CompileAnswer answer;
  EXPECT_FALSE(client->getOrMake(cache::Tier::Program, programKey(*parsed.spec, options),
                                 [&]() -> Result<cache::Store::Value> {
                                   answer = run();
                                   return environmentError("it cannot be made");
                                 }));
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->kind, "environment");
  EXPECT_THAT(answer.failure->message, testing::HasSubstr("NVRTC"));
  EXPECT_THAT(stages, testing::ElementsAre("parsing", "cache"));
}

TEST_F(CompileJob, WithoutNvrtcWhatTheStoreHasIsAnAnswer) {
  if (!hasNvrtc)
    GTEST_SKIP() << "NVRTC is not here";
  CompileAnswer whole = run();
  ASSERT_FALSE(whole.failure) << whole.failure->message;
  NoNvrtc none;
  place.images = std::make_shared<const ImageCompiler>(place.store);
  EXPECT_EQ(run().entry, whole.entry);
}

TEST_F(CompileJob, AScheduleThatDoesNotFitIsSaid) {
  if (!hasNvrtc)
    GTEST_SKIP() << "NVRTC is not here";
  CompileAnswer answer = compileJob(
      requestFor(test::softmaxSpec, {{"schedule", {{"no_such_key", 1}}}}), {}, place, nullptr);
  ASSERT_TRUE(answer.failure);
  EXPECT_EQ(answer.failure->kind, "invalid_argument");
  EXPECT_THAT(answer.failure->message, testing::HasSubstr("no_such_key"));
}

} // namespace
