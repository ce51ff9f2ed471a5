// What goes wrong: the exit code, what is said, and what is said to do.
#include "runtime/npy/npy.h"
#include "tests/e2e/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace attnc::e2e {
namespace {

using testing::HasSubstr;

/// Arguments, exit code, and parts of what stderr says.
struct Wrong {
  std::string name;
  std::vector<std::string> arguments;
  int exit;
  std::vector<std::string> says;

  friend void PrintTo(const Wrong &wrong, std::ostream *os) { *os << wrong.name; }
};

class WrongUsage : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUsage, isSaidClearly) {
  Ended ended = attnc(GetParam().arguments);
  EXPECT_EQ(ended.exit, GetParam().exit) << ended.err;
  EXPECT_EQ(ended.out, "");
  for (const std::string &part : GetParam().says)
    EXPECT_THAT(ended.err, HasSubstr(part));
}

TEST_P(WrongUsage, isJsonOnRequest) {
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.push_back("--json");
  Ended ended = attnc(arguments);
  EXPECT_EQ(ended.exit, GetParam().exit) << ended.err;
  auto json = ended.json();
  ASSERT_TRUE(json.is_object()) << ended.out;
  EXPECT_EQ(json.at("exit"), GetParam().exit);
  EXPECT_EQ(json.at("ok"), false);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WrongUsage,
    testing::Values(
        Wrong{"command", {"chekc"}, 2, {"no command 'chekc'", "did you mean 'check'?"}},
        Wrong{"option", {"run", "full", "--shap", "b=1"}, 2, {"--shap", "attnc run --help"}},
        Wrong{"integer_param_that_would_wrap",
              {"run", "prefix_lm", "--target", "cpu", "--param", "prefix=4611686018427387904"},
              2,
              {"param prefix", "<= 1099511627776"}},
        Wrong{"missing_spec", {"compile"}, 2, {"SPEC", "attnc compile --help"}},
        Wrong{"file", {"run", "nothing/here.json"}, 2, {"no file 'nothing/here.json'"}},
        Wrong{"library_name", {"run", "causl"}, 2, {"no file 'causl'", "did you mean 'causal'?"}},
        Wrong{"directory", {"run", "/tmp"}, 2, {"'/tmp' is a directory"}},
        Wrong{"target",
              {"run", "full", "--target", "sm_90b"},
              2,
              {"no target 'sm_90b'", "did you mean 'sm_90"}},
        Wrong{
            "emit", {"compile", "full", "--emit", "ptxx"}, 2, {"no 'ptxx'", "did you mean 'ptx'?"}},
        Wrong{"emit_of_target",
              {"compile", "full", "--emit", "ptx", "--target", "cpu"},
              2,
              {"cpu has no 'ptx'", "--target sm_80"}},
        Wrong{"shape_syntax", {"run", "full", "--shape", "b"}, 2, {"'b' is not of the form"}},
        Wrong{"shape_number", {"run", "full", "--shape", "b=two"}, 2, {"'two' is not"}},
        Wrong{
            "shape_too_long", {"run", "full", "--shape", "b=99999999999999999999"}, 2, {"64-bit"}},
        Wrong{"shape_negative", {"run", "full", "--shape", "b=-2"}, 2, {"at least 1"}},
        Wrong{"shape_zero", {"run", "full", "--shape", "i=0"}, 2, {"at least 1"}},
        Wrong{"shape_twice", {"run", "full", "--shape", "b=1,b=2"}, 2, {"'b' twice"}},
        Wrong{"shape_unknown",
              {"run", "gqa", "--shape", "hkk=2", "--target", "cpu"},
              2,
              {"no dim 'hkk'", "did you mean 'hk'?"}},
        Wrong{"shape_static",
              {"run", "full", "--shape", "d=32", "--target", "cpu"},
              2,
              {"'d' is static", "--set d=32"}},
        Wrong{"require",
              {"run", "gqa", "--shape", "h=3,hk=2", "--target", "cpu"},
              2,
              {"size(h) % size(hk) == 0"}},
        Wrong{"param_unknown",
              {"run", "full", "--param", "scal=1"},
              2,
              {"no param 'scal'", "did you mean 'scale'?"}},
        Wrong{
            "param_range", {"run", "full", "--param", "scale=-1", "--target", "cpu"}, 2, {"scale"}},
        Wrong{"param_integer",
              {"run", "prefix_lm", "--param", "prefix=1.5"},
              2,
              {"'prefix' is an integer"}},
        Wrong{"input_unknown",
              {"run", "full", "--input", "Q=q.npy", "--target", "cpu"},
              2,
              {"no input 'Q'"}},
        Wrong{"output_unknown",
              {"run", "full", "--output", "out=o.npy", "--target", "cpu"},
              2,
              {"no output 'out'"}},
        Wrong{"input_missing",
              {"run", "full", "--input", "q=none.npy", "--target", "cpu"},
              2,
              {"none.npy"}},
        Wrong{"schedule_missing",
              {"compile", "full", "--emit", "red", "--schedule", "none.json"},
              2,
              {"'none.json' is not a file"}},
        Wrong{"tune_processor",
              {"tune", "full", "--target", "cpu"},
              4,
              {"attnc tune needs a GPU", "attnc doctor"}},
        Wrong{"tune_none", {"tune", "full", "--top", "0"}, 2, {"--top is at least 1"}},
        Wrong{"set_unknown", {"compile", "full", "--set", "dd=64", "--emit", "attn"}, 3, {"dd"}},
        Wrong{"grad",
              {"compile", "full", "--grad", "--emit", "red", "--target", "cpu"},
              3,
              {"gradients are not available yet"}},
        Wrong{"huge_shape",
              {"run", "full", "--shape", "b=1000000,i=1000000", "--target", "cpu"},
              4,
              {"GiB", "--shape"}},
        Wrong{"overflowing_shape",
              {"run", "full", "--shape", "b=4000000000000,i=4000000000000", "--target", "cpu"},
              4,
              {"GiB", "--shape"}},
        Wrong{"unwritable",
              {"compile", "full", "--emit", "attn", "-o", "/nowhere/at/all"},
              4,
              {"'/nowhere/at/all' cannot be written"}}),
    [](const auto &info) { return info.param.name; });

TEST(SpecErrors, areAllReportedWithTheirPlace) {
  TemporaryFolder folder;
  std::string file = folder.write("three.json", R"json({
  "attnc": 1,
  "name": "three",
  "inputs": { "q": "f32[b, i, d]", "k": "f32[b, j, d]" },
  "body": [
    "s = sum(d, q[b,i,d] * kk[b,j,d])",
    "t = maximum(q[b,i,d])",
    "o[b,i,j] = s + size(jj)"
  ],
  "outputs": { "o": "f32" }
})json");
  Ended ended = attnc({"compile", file, "--emit", "attn"});
  EXPECT_EQ(ended.exit, 3);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr(file + ":6:"));
  EXPECT_THAT(ended.err, HasSubstr(file + ":7:"));
  EXPECT_THAT(ended.err, HasSubstr(file + ":8:"));
  EXPECT_THAT(ended.err, HasSubstr("^"));
  auto json = attnc({"compile", file, "--emit", "attn", "--json"}).json();
  EXPECT_GE(json.at("diagnostics").size(), 3u);
}

TEST(SpecErrors, doNotStopTheCheckOfOtherSpecs) {
  TemporaryFolder folder;
  std::string file = folder.write("broken.json", "{");
  Ended ended = attnc({"check", file, "full", "--target", "cpu"});
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.out, HasSubstr("NOT RUN"));
  EXPECT_THAT(ended.out, HasSubstr("ok"));
}

TEST(SpecErrors, aVeryLongFileIsRefused) {
  TemporaryFolder folder;
  std::string file = folder.write("long.json", "{" + std::string(100 << 20, ' '));
  Ended ended = attnc({"compile", file, "--emit", "attn"});
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("error"));
}

TEST(Environment, anUnreadableFileIsNamed) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may read everything";
  TemporaryFolder folder;
  std::string file = folder.write("secret.json", "{}");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  Ended ended = attnc({"compile", file});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, HasSubstr("secret.json"));
}

TEST(Environment, aGpuTargetWithoutAGpuSaysWhatToDo) {
  if (std::filesystem::exists("/dev/nvidia0"))
    GTEST_SKIP() << "there is a GPU";
  Ended ended = attnc({"run", "full", "--target", "sm_90a"});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, HasSubstr("--target cpu"));
}

TEST(Environment, aFullDiskIsNamed) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  Ended ended = attnc({"compile", "full", "--emit", "attn", "-o", "/dev/full"});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, HasSubstr("'/dev/full' cannot be written"));
}

TEST(Inputs, ofTheWrongShapeAreRefused) {
  TemporaryFolder folder;
  NpyArray q{DType::F32, {2, 3, 4}, std::vector<std::byte>(96)};
  ASSERT_TRUE(writeNpy(q, folder.file("q.npy")).ok());
  Ended ended = attnc({"run", "full", "--target", "cpu", "--input", "q=" + folder.file("q.npy")});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("'q' has 4 axes"));
  q.shape = {1, 2, 3, 4};
  ASSERT_TRUE(writeNpy(q, folder.file("q.npy")).ok());
  ended = attnc({"run", "full", "--target", "cpu", "--input", "q=" + folder.file("q.npy")});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("--set d=4"));
}

TEST(Inputs, ofTheWrongKindAreRefused) {
  TemporaryFolder folder;
  NpyArray q{DType::I64, {1, 1, 1, 64}, std::vector<std::byte>(512)};
  ASSERT_TRUE(writeNpy(q, folder.file("q.npy")).ok());
  Ended ended = attnc({"run", "full", "--target", "cpu", "--input", "q=" + folder.file("q.npy")});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("holds i64"));
}

} // namespace
} // namespace attnc::e2e
