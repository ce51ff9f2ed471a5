// Kernels that are compiled when a launch first needs them: how often, for whom, and which.
#include "compiler/driver/compile.h"
#include "compiler/driver/images/deferred_images.h"
#include "tests/e2e/variant.h"
#include <latch>
#include <thread>

namespace attnc::e2e {
namespace {

using driver::DeferredImages;

std::map<std::string, NvrtcRequest> requestsFor(const std::vector<std::string> &names) {
  std::map<std::string, NvrtcRequest> requests;
  for (const std::string &name : names)
    requests[name].source = "source of " + name;
  return requests;
}

/// Compiles nothing: the cubin is the source. Counts by source.
struct Counted {
  std::map<std::string, int> calls;
  std::string fails; ///< a source that does not compile

  DeferredImages::Compile function() {
    return [this](const std::vector<NvrtcRequest> &requests, driver::CompileWatch *) {
      std::vector<Result<NvrtcOutput>> outputs;
      for (const NvrtcRequest &request : requests) {
        ++calls[request.source];
        NvrtcOutput output;
        output.cubin = request.source;
        output.ptx = "PTX";
        if (request.source == fails)
          outputs.push_back(compilationError("no"));
        else
          outputs.push_back(output);
      }
      return outputs;
    };
  }
};

TEST(DeferredImages, AreCompiledOnceForAllThreads) {
  Counted counted;
  DeferredImages deferred(requestsFor({"a", "b", "c"}), counted.function());
  constexpr int kThreads = 8;
  std::latch start(kThreads);
  std::vector<std::vector<Image>> seen(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < kThreads; ++number)
      threads.emplace_back([&, number] {
        start.arrive_and_wait();
        Result<std::vector<Image>> images = deferred.images(
            number % 2 ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"b", "a"});
        if (images)
          seen[number] = *images;
      });
  }
  EXPECT_EQ(counted.calls["source of a"], 1);
  EXPECT_EQ(counted.calls["source of b"], 1);
  EXPECT_EQ(counted.calls.count("source of c"), 0U); // nobody has asked for it
  for (int number = 0; number < kThreads; ++number) {
    ASSERT_EQ(seen[number].size(), 4U);
    EXPECT_EQ(seen[number][0].name, number % 2 ? "a" : "b");
    EXPECT_EQ(seen[number][0].bytes, number % 2 ? "source of a" : "source of b");
    EXPECT_EQ(seen[number][0].kind, ImageKind::Cubin);
    EXPECT_EQ(seen[number][1].kind, ImageKind::Ptx);
  }
}

TEST(DeferredImages, TryAgainWhatFailed) {
  Counted counted{{}, "source of b"};
  DeferredImages deferred(requestsFor({"a", "b"}), counted.function());
  for (int number = 0; number < 2; ++number) {
    Result<std::vector<Image>> images = deferred.images({"a", "b"});
    ASSERT_FALSE(images);
    EXPECT_EQ(images.error().message, "no");
  }
  counted.fails.clear();
  EXPECT_TRUE(deferred.images({"a", "b"}));
  EXPECT_EQ(counted.calls["source of a"], 1);
  EXPECT_EQ(counted.calls["source of b"], 3);
}

TEST(DeferredImages, SayWhatSpills) {
  auto compile = [](const std::vector<NvrtcRequest> &requests, driver::CompileWatch *) {
    std::vector<Result<NvrtcOutput>> outputs;
    for (const NvrtcRequest &request : requests) {
      NvrtcOutput output;
      KernelReport kernel;
      kernel.symbol = "k";
      kernel.resources.spillStores = request.source == "source of b" ? 8 : 0;
      output.kernels = {kernel};
      outputs.push_back(output);
    }
    return outputs;
  };
  DeferredImages deferred(requestsFor({"a", "b"}), compile);
  EXPECT_EQ(deferred.note("b"), nullptr);
  ASSERT_TRUE(deferred.images({"a", "b"}));
  EXPECT_EQ(*deferred.note("a"), "");
  EXPECT_EQ(*deferred.note("b"), "k spills registers (8 bytes stored, 0 loaded)");
}

TEST(DeferredImages, KnowTheirNames) {
  Counted counted;
  DeferredImages deferred(requestsFor({"a", "b"}), counted.function());
  EXPECT_EQ(deferred.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(deferred.images({"a", "z"}).error().message, "there is no image z");
  EXPECT_TRUE(counted.calls.empty());
}

/// The variant in parts, compiled at once or when it is needed.
class DeferredSplits : public testing::TestWithParam<std::string> {
protected:
  Result<driver::Compilation> compile(const Spec &spec, driver::SplitVariant parts) {
    driver::CompileOptions options;
    options.target = GetParam();
    options.images = images;
    options.parts = parts;
    return driver::compile(spec, options);
  }
  void SetUp() override {
    if (Result<const Nvrtc *> nvrtc = images->nvrtc(); !nvrtc)
      GTEST_SKIP() << nvrtc.error().text();
  }
  std::shared_ptr<const ImageCompiler> images = std::make_shared<ImageCompiler>();
};

bool isOfVariant(const KernelDecl &kernel) {
  auto begins = [&](const char *prefix) { return kernel.name.starts_with(prefix); };
  return begins("split_") || begins("short_") || begins("uneven_");
}

TEST_P(DeferredSplits, AreTheSameImages) {
  LoadedSpec spec("full");
  ASSERT_TRUE(spec);
  Result<driver::Compilation> built = compile(*spec, driver::SplitVariant::Built);
  Result<driver::Compilation> waiting = compile(*spec, driver::SplitVariant::OnFirstUse);
  ASSERT_TRUE(built && waiting);
  EXPECT_FALSE(built->deferred);
  ASSERT_TRUE(waiting->deferred);
  // One pass is there at once, and everything that launches need to know about the rest.
  for (const KernelDecl &kernel : waiting->program.manifest.kernels)
    EXPECT_EQ(waiting->program.findImage(kernel.image, ImageKind::Cubin) == nullptr,
              isOfVariant(kernel))
        << kernel.name;
  std::vector<std::string> names = waiting->deferred->names();
  EXPECT_EQ(names.size(), GetParam() == std::string("sm_90a") ? 6U : 2U); // with short sequences
  Result<std::vector<Image>> images = waiting->deferred->images(names);
  ASSERT_TRUE(images) << images.error().text();
  for (Image &image : *images)
    waiting->program.images.push_back(std::move(image));
  for (KernelDecl &kernel : built->program.manifest.kernels) {
    for (ImageKind kind : {ImageKind::Cubin, ImageKind::Ptx}) {
      const Image *first = built->program.findImage(kernel.image, kind);
      const Image *later = waiting->program.findImage(kernel.image, kind);
      ASSERT_TRUE(first && later) << kernel.name;
      EXPECT_EQ(first->bytes, later->bytes) << kernel.name;
    }
    if (isOfVariant(kernel))
      kernel.resources.reset(); // known once it has been compiled
  }
  EXPECT_EQ(printManifest(built->program.manifest), printManifest(waiting->program.manifest));
}

INSTANTIATE_TEST_SUITE_P(Targets, DeferredSplits, testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace attnc::e2e
