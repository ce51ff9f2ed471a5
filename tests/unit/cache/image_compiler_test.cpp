#include "runtime/cuda/image_compiler.h"
#include "runtime/cuda/image_key.h"
#include "runtime/cuda/nvrtc_library.h"
#include "tests/unit/cache/folder.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <thread>

using namespace attnc;
using cache::openStore;
using cache::Store;
using cache::TestFolder;
using cache::Tier;
using testing::HasSubstr;

namespace {

/// NVRTC is where ATTNC_NVRTC says, and afterwards where it was.
class Nowhere {
public:
  explicit Nowhere(const std::string &file) {
    if (const char *value = std::getenv("ATTNC_NVRTC"))
      before = value;
    ::setenv("ATTNC_NVRTC", file.c_str(), 1);
  }
  ~Nowhere() {
    if (before)
      ::setenv("ATTNC_NVRTC", before->c_str(), 1);
    else
      ::unsetenv("ATTNC_NVRTC");
  }
  Nowhere(const Nowhere &) = delete;
  Nowhere &operator=(const Nowhere &) = delete;

private:
  std::optional<std::string> before;
};

class ImageCompilerTest : public testing::Test {
protected:
  void SetUp() override {
    if (Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::open(); !nvrtc)
      GTEST_SKIP() << nvrtc.error().text();
    else
      library = (*nvrtc)->path();
  }

  static NvrtcRequest request(const std::string &body = "x[0] = 1;", const char *comment = "") {
    NvrtcRequest request;
    request.source =
        "extern \"C\" __global__ void f(float *x) { " + body + " } // " + comment + "\n";
    request.name = "f.cu";
    request.architecture = "sm_80";
    request.options = {"--no-cache", "--minimal"};
    return request;
  }
  NvrtcOutput compile(const NvrtcRequest &request) {
    Result<NvrtcOutput> output = ImageCompiler(store).compile(request);
    EXPECT_TRUE(output) << output.error().text();
    return output ? *output : NvrtcOutput();
  }

  TestFolder folder;
  std::shared_ptr<Store> store = openStore(folder / "cache");
  std::string library;
};

void expectSame(const NvrtcOutput &a, const NvrtcOutput &b) {
  EXPECT_EQ(a.ptx, b.ptx);
  EXPECT_EQ(a.cubin, b.cubin);
  EXPECT_EQ(a.log, b.log);
  EXPECT_EQ(a.notes, b.notes);
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].symbol, b.kernels[i].symbol);
    EXPECT_EQ(a.kernels[i].resources.registers, b.kernels[i].resources.registers);
  }
}

TEST_F(ImageCompilerTest, TheSecondTimeEverythingComesFromTheCache) {
  NvrtcOutput first = compile(request()), second = compile(request());
  EXPECT_FALSE(first.isCached);
  EXPECT_GT(first.seconds, 0);
  EXPECT_TRUE(second.isCached);
  EXPECT_EQ(second.seconds, 0);
  ASSERT_EQ(first.kernels.size(), 1u);
  expectSame(first, second);
}

// What the key leaves out must leave the machine code as it is.
TEST_F(ImageCompilerTest, MachineCodeDependsNeitherOnNamesNorOnComments) {
  ImageCompiler withoutCache;
  NvrtcRequest other = request("x[0] = 1;", "another comment\n\n");
  other.name = "/somewhere/else.cu";
  Result<NvrtcOutput> a = withoutCache.compile(request()), b = withoutCache.compile(other);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->ptx, b->ptx);
  EXPECT_EQ(a->cubin, b->cubin);
  compile(request());
  EXPECT_TRUE(compile(other).isCached);
}

TEST_F(ImageCompilerTest, WhatDoesNotCompileIsNotKept) {
  ImageCompiler images(store);
  for (int round = 0; round < 2; ++round) {
    Result<NvrtcOutput> output = images.compile(request("undeclared = 1;"));
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().kind, ErrorKind::Compilation);
    EXPECT_THAT(output.error().message, HasSubstr("undeclared"));
  }
  EXPECT_TRUE(store->list().empty());
}

TEST_F(ImageCompilerTest, ThreadsThatAskForTheSameWaitForOne) {
  ImageCompiler images(store);
  std::atomic<int> compiled = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        Result<NvrtcOutput> output = images.compile(request());
        compiled += output && !output->isCached;
      });
  }
  EXPECT_EQ(compiled, 1);
}

TEST_F(ImageCompilerTest, WithoutNvrtcImagesOfAnyAreGood) {
  NvrtcOutput made = compile(request());
  Nowhere hidden("/nonexistent/libnvrtc.so");
  NvrtcOutput found = compile(request());
  EXPECT_TRUE(found.isCached);
  expectSame(made, found);
  Result<NvrtcOutput> missing = ImageCompiler(store).compile(request("x[0] = 2;"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::Environment);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/libnvrtc.so"));
}

// As in a container that has a pack and no CUDA toolkit.
TEST_F(ImageCompilerTest, WithoutNvrtcAPackIsEnough) {
  NvrtcOutput made = compile(request());
  ASSERT_TRUE(store->exportPack(folder / "images.pack"));
  store = openStore(folder / "other");
  ASSERT_TRUE(store->importPack(folder / "images.pack"));
  Nowhere hidden("/nonexistent/libnvrtc.so");
  expectSame(made, compile(request()));
}

TEST_F(ImageCompilerTest, AnotherNvrtcDoesNotUseTheImagesOfTheFirst) {
  compile(request());
  // The same library under another build id: a copy in which the id's first byte is another.
  std::string bytes = cache::contentOf(library), id = libraryIdentity(library);
  ASSERT_THAT(id, testing::StartsWith("build id "));
  std::string raw;
  for (std::size_t i = 9; i < id.size(); i += 2)
    raw += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  std::size_t at = bytes.find(raw);
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  std::string copy = folder / "libnvrtc.so.13";
  cache::writeTo(copy, bytes);
  EXPECT_NE(libraryIdentity(copy), id);
  Nowhere elsewhere(copy);
  // It need not run here, where its other half, the builtins, is not beside it.
  Result<NvrtcOutput> output = ImageCompiler(store).compile(request());
  EXPECT_TRUE(!output || !output->isCached);
}

TEST_F(ImageCompilerTest, AFileThatIsNoLibraryLeavesWhatOthersMade) {
  compile(request());
  cache::writeTo(folder / "libnvrtc.so.13", "no library");
  Nowhere broken(folder / "libnvrtc.so.13");
  EXPECT_TRUE(compile(request()).isCached);
  EXPECT_FALSE(ImageCompiler(store).compile(request("x[0] = 2;")));
}

TEST_F(ImageCompilerTest, AValueThatIsNoImageIsNotBelieved) {
  std::string key = imageKey(*contentKey(request()), libraryIdentity(library));
  for (const std::string &value :
       {std::string(), std::string("x"), std::string(24, '\xff'), std::string(25, '\0')}) {
    store->put(Tier::Image, key, value);
    NvrtcOutput output = compile(request());
    EXPECT_FALSE(output.isCached);
    EXPECT_THAT(output.ptx, HasSubstr(".entry f("));
  }
}

TEST_F(ImageCompilerTest, WhatHasNoKeyIsCompiledEachTime) {
  NvrtcRequest withLines = request("x[0] = __LINE__;");
  EXPECT_FALSE(compile(withLines).isCached);
  EXPECT_FALSE(compile(withLines).isCached);
}

// Whatever the build, a file's identity is that of its bytes.
TEST(LibraryIdentity, IsTheBuildIdOrTheHashOfTheFile) {
  TestFolder folder;
  Dl_info self = {};
  ASSERT_TRUE(dladdr(reinterpret_cast<void *>(&dlopen), &self)); // libc has a build id
  EXPECT_THAT(libraryIdentity(self.dli_fname), testing::MatchesRegex("build id [0-9a-f]{40}"));
  cache::writeTo(folder / "a", "abc");
  EXPECT_EQ(libraryIdentity(folder / "a"),
            "sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(libraryIdentity(folder / "none"), "");
  EXPECT_EQ(libraryIdentity(folder.path()), "");
}

// Damaged headers of ELF files.
TEST(LibraryIdentity, ReadsNothingBeyondAFile) {
  TestFolder folder;
  Dl_info self = {};
  ASSERT_TRUE(dladdr(reinterpret_cast<void *>(&dlopen), &self));
  std::string bytes = cache::contentOf(self.dli_fname).substr(0, 8192);
  for (std::size_t at = 16; at < 1024; ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    cache::writeTo(folder / "damaged", damaged);
    EXPECT_FALSE(libraryIdentity(folder / "damaged").empty());
  }
}

} // namespace
