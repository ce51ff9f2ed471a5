// A test for each row of the table of what is in an image's key (docs/cache.md).
#include "runtime/cuda/image_key.h"

#include <gtest/gtest.h>
#include <set>

using namespace attnc;

namespace {

NvrtcRequest request() {
  NvrtcRequest request;
  request.source = "#include \"attnc/a.cuh\"\n// says what\nextern \"C\" __global__ void f() {}\n";
  request.name = "f.cu";
  request.headers = {{"attnc/a.cuh", "#include \"attnc/b.cuh\"\nint a; // one\n"},
                     {"attnc/b.cuh", "int b;\n"},
                     {"attnc/other.cuh", "int other;\n"}};
  request.architecture = "sm_90a";
  request.options = {"--no-cache", "--minimal"};
  return request;
}

/// The key of a request after a change.
template <typename Change> std::string keyAfter(const Change &change) {
  NvrtcRequest changed = request();
  change(changed);
  return contentKey(changed).value_or("none");
}

const std::string unchanged = *contentKey(request());

TEST(ImageKey, HasTheSourcesTokens) {
  EXPECT_NE(keyAfter([](NvrtcRequest &r) { r.source += "int more;"; }), unchanged);
}

TEST(ImageKey, HasNoCommentsAndNoLayout) {
  EXPECT_EQ(keyAfter([](NvrtcRequest &r) {
              r.source =
                  "#include \"attnc/a.cuh\"\nextern \"C\"  __global__ void f() {} // other\n";
            }),
            unchanged);
  EXPECT_EQ(keyAfter([](NvrtcRequest &r) { r.headers["attnc/b.cuh"] = "/* two */ int b;\n\n"; }),
            unchanged);
}

TEST(ImageKey, HasNoNameAndNoPath) {
  EXPECT_EQ(keyAfter([](NvrtcRequest &r) { r.name = "/home/somebody/else.cu"; }), unchanged);
}

TEST(ImageKey, HasTheHeadersThatAreIncludedAndTheirNames) {
  EXPECT_NE(keyAfter([](NvrtcRequest &r) { r.headers["attnc/a.cuh"] += "int more;"; }), unchanged);
  EXPECT_NE(keyAfter([](NvrtcRequest &r) { r.headers["attnc/b.cuh"] = "int c;\n"; }), unchanged);
  EXPECT_EQ(keyAfter([](NvrtcRequest &r) { r.headers["attnc/other.cuh"] = "int c;\n"; }),
            unchanged);
}

TEST(ImageKey, HasTheOptionsInOrder) {
  EXPECT_NE(keyAfter([](NvrtcRequest &r) { r.options.push_back("-DN=1"); }), unchanged);
  EXPECT_NE(keyAfter([](NvrtcRequest &r) { r.options = {"--minimal", "--no-cache"}; }), unchanged);
}

TEST(ImageKey, HasTheArchitecture) {
  EXPECT_NE(keyAfter([](NvrtcRequest &r) { r.architecture = "sm_80"; }), unchanged);
}

TEST(ImageKey, HasTheIdentityOfNvrtc) {
  EXPECT_NE(imageKey(unchanged, "build id 01"), imageKey(unchanged, "build id 02"));
  EXPECT_NE(imageKey(unchanged, "build id 01"), unchanged);
  EXPECT_NE(imageKey(unchanged, "build id 01"),
            imageKey(keyAfter([](NvrtcRequest &r) { r.architecture = "sm_80"; }), "build id 01"));
}

TEST(ImageKey, IsNotThereWhereTheResultDependsOnMore) {
  for (const char *option : {"-lineinfo", "-G", "-I.", "--pre-include=x.h"})
    EXPECT_EQ(keyAfter([&](NvrtcRequest &r) { r.options.push_back(option); }), "none") << option;
  EXPECT_EQ(keyAfter([](NvrtcRequest &r) { r.source += "#include \"on_disk.h\"\n"; }), "none");
  EXPECT_EQ(keyAfter([](NvrtcRequest &r) { r.headers["attnc/b.cuh"] += "int l = __LINE__;"; }),
            "none");
}

} // namespace
