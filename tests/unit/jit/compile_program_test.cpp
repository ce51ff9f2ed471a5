#include "compiler/driver/execution/execute.h"
#include "compiler/jit/compile_program.h"
#include "compiler/jit/open_program.h"
#include "compiler/jit/program_key.h"
#include "tests/unit/cache/folder.h"
#include "tests/unit/jit/parsed_spec.h"

using namespace attnc;
using namespace attnc::test;

namespace {

class CompileProgram : public testing::Test {
protected:
  std::shared_ptr<cache::Store> open() {
    Result<std::shared_ptr<cache::Store>> store = cache::Store::open({.directory = folder.path()});
    if (!store)
      throw std::runtime_error(store.error().text());
    return *store;
  }
  ReadyProgram compile(cache::Store *store, const driver::CompileOptions &options = {}) {
    Result<ReadyProgram> ready = compileProgram(*parsed.spec, options, store);
    if (!ready)
      throw std::runtime_error(ready.error().text());
    return *std::move(ready);
  }
  /// What a compilation for the cpu computes of some numbers.
  static std::vector<std::byte> run(const driver::Compilation &compilation) {
    Result<std::unique_ptr<driver::Executor>> executor = driver::makeExecutor(compilation, nullptr);
    if (!executor)
      throw std::runtime_error(executor.error().text());
    driver::RunRequest request;
    for (auto [name, rows] : {std::pair("q", 5), std::pair("k", 7), std::pair("v", 7)}) {
      std::vector<float> values(rows * 16);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>((i * 7 + rows) % 11) / 8;
      driver::HostTensor tensor{DType::F32, {rows, 16}, {}};
      tensor.data.resize(values.size() * sizeof(float));
      std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
      request.inputs[name] = std::move(tensor);
    }
    Result<driver::RunResult> result = (*executor)->run(request);
    if (!result)
      throw std::runtime_error(result.error().text());
    return result->outputs.at("o").data;
  }

  cache::TestFolder folder;
  ParsedSpec parsed;
};

TEST_F(CompileProgram, TheSecondTimeComesFromDisk) {
  ReadyProgram first = compile(open().get());
  EXPECT_EQ(first.source, cache::Source::Made);
  ReadyProgram second = compile(open().get());
  EXPECT_EQ(second.source, cache::Source::Disk);
  EXPECT_EQ(*serializeProgram(*completed(second.compilation)),
            *serializeProgram(*completed(first.compilation)));
  EXPECT_EQ(run(second.compilation), run(first.compilation));
}

TEST_F(CompileProgram, WithoutAStoreItIsCompiledEachTime) {
  EXPECT_EQ(compile(nullptr).source, cache::Source::Made);
  EXPECT_EQ(compile(nullptr).source, cache::Source::Made);
}

TEST_F(CompileProgram, PassesThatAreVerifiedAreRun) {
  compile(open().get());
  driver::CompileOptions options;
  options.verifyPasses = true;
  ReadyProgram verified = compile(open().get(), options);
  EXPECT_EQ(verified.source, cache::Source::Made);
  EXPECT_FALSE(verified.compilation.passes.empty());
}

TEST_F(CompileProgram, WhatIsStoredAndDoesNotOpenIsMadeAnew) {
  std::string key = programKey(*parsed.spec, {});
  open()->put(cache::Tier::Program, key, "no program");
  EXPECT_EQ(compile(open().get()).source, cache::Source::Made);
  EXPECT_EQ(compile(open().get()).source, cache::Source::Disk);
}

TEST_F(CompileProgram, ErrorsAreThoseOfTheCompilerAndAreNotStored) {
  driver::CompileOptions options;
  options.schedule = {{"no_such_key", 1}};
  for (int time = 0; time < 2; ++time) {
    Result<ReadyProgram> refused = compileProgram(*parsed.spec, options, open().get());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::InvalidArgument);
  }
  EXPECT_EQ(open()->stats().total().entries, 0u);
}

TEST_F(CompileProgram, TextsAreKeptWhereTheyAreAskedFor) {
  driver::CompileOptions options;
  options.upTo = driver::Stage::Llvm;
  driver::Compilation made = compile(open().get(), options).compilation;
  ReadyProgram read = compile(open().get(), options);
  EXPECT_EQ(read.source, cache::Source::Disk);
  EXPECT_FALSE(made.attn.empty());
  EXPECT_EQ(read.compilation.attn, made.attn);
  EXPECT_EQ(read.compilation.red, made.red);
  EXPECT_EQ(read.compilation.llvm, made.llvm);
}

TEST_F(CompileProgram, CodeForAnotherProcessorIsRefusedByName) {
  Program program = *completed(compile(nullptr).compilation);
  program.processor += " teleport";
  Result<driver::Compilation> opened = openProgram(program, nullptr);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::InvalidArgument);
  EXPECT_EQ(opened.error().message,
            "the program softmax was compiled for another processor: this one has no teleport");
  program.processor = "z80";
  EXPECT_FALSE(openProgram(program, nullptr));
  program.processor = "";
  EXPECT_FALSE(openProgram(program, nullptr));
}

TEST_F(CompileProgram, AnObjectThatIsNoneIsAnError) {
  Program program = *completed(compile(nullptr).compilation);
  for (Image &image : program.images)
    image.bytes = "no object";
  EXPECT_FALSE(openProgram(program, nullptr));
  program.images.clear();
  Result<driver::Compilation> opened = openProgram(program, nullptr);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::InvalidArgument);
}

// The variant in parts of a GPU's program.
TEST_F(CompileProgram, WhatWaitsForItsFirstUseWaitsOnDiskToo) {
  auto images = std::make_shared<const ImageCompiler>(open());
  if (Result<const Nvrtc *> nvrtc = images->nvrtc(); !nvrtc)
    GTEST_SKIP() << nvrtc.error().text();
  driver::CompileOptions options;
  options.target = "sm_80";
  options.images = images;
  driver::Compilation made = compile(open().get(), options).compilation;
  ASSERT_TRUE(made.deferred);
  ReadyProgram read = compile(open().get(), options);
  EXPECT_EQ(read.source, cache::Source::Disk);
  ASSERT_TRUE(read.compilation.deferred);
  EXPECT_EQ(read.compilation.deferred->names(), made.deferred->names());
  EXPECT_TRUE(warmUp(read.compilation));
  Result<Program> whole = completed(read.compilation);
  ASSERT_TRUE(whole) << whole.error().text();
  for (const Image &image : whole->images)
    EXPECT_NE(image.kind, ImageKind::Cuda) << image.name;
  EXPECT_EQ(*serializeProgram(*whole), *serializeProgram(*completed(made)));
}

} // namespace
