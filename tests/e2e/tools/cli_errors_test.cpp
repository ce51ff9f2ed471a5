// What goes wrong: the exit code, what is said, and what is said to do.
#include "runtime/npy/npy.h"
#include "tests/e2e/tools/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
        Wrong{"integer_param_beyond_64_bits",
              {"run", "prefix_lm", "--target", "cpu", "--param", "prefix=9223372036854775807"},
              2,
              {"'prefix' is an integer of 64 bits, 9.223372036854776e+18 is beyond them"}},
        Wrong{"integer_param_of_many_digits",
              {"run", "prefix_lm", "--target", "cpu", "--param", "prefix=-1e30"},
              2,
              {"'prefix' is an integer of 64 bits, -1e+30 is beyond them"}},
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
        Wrong{"shape_negative", {"run", "full", "--shape", "b=-2"}, 2, {"not negative"}},
        Wrong{"shape_static_zero", {"run", "full", "--shape", "d=0"}, 2, {"d", "64"}},
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
              {"requirement does not hold: size(h) % size(hk) == 0 (h=3, hk=2)", "gqa.json:8:"}},
        Wrong{"param_unknown",
              {"run", "full", "--param", "scal=1"},
              2,
              {"no param 'scal'", "did you mean 'scale'?"}},
        Wrong{"param_range",
              {"run", "full", "--param", "scale=-1", "--target", "cpu"},
              2,
              {"param 'scale' is -1, but must be > 0", "its range is declared at full.json:7:"}},
        Wrong{"option_with_two_values",
              {"run", "full", "--input", "q=q.npy", "k=k.npy", "--target", "cpu"},
              2,
              {"k=k.npy", "repeat it, --input q=q.npy --input k=k.npy"}},
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
        Wrong{"tune_none", {"tune", "full", "--top", "0"}, 2, {"--top is at least 1, not 0"}},
        Wrong{"tune_negative", {"tune", "full", "--top", "-1"}, 2, {"--top is at least 1, not -1"}},
        Wrong{"set_unknown", {"compile", "full", "--set", "dd=64", "--emit", "attn"}, 3, {"dd"}},
        Wrong{"launch_json_of_text",
              {"compile", "full", "--emit", "cuda", "--target", "sm_80", "--launch-json"},
              2,
              {"--launch-json describes PTX or cubins, not 'cuda'"}},
        Wrong{"launch_json_without_files",
              {"compile", "full", "--emit", "ptx", "--target", "sm_80", "--launch-json"},
              2,
              {"nothing is written to a file", "-o FILE"}},
        Wrong{"huge_shape",
              {"run", "full", "--shape", "b=1000000,i=1000000", "--target", "cpu"},
              4,
              {"GiB", "--shape"}},
        Wrong{"overflowing_shape",
              {"run", "full", "--shape", "b=4000000000000,i=4000000000000", "--target", "cpu"},
              2,
              {"more than 2^63 bytes", "choose smaller extents"}},
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
  // Nobody can read the first bytes of an address space, root included.
  Ended ended = attnc({"compile", "/proc/self/mem", "--emit", "attn"});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, HasSubstr("/proc/self/mem cannot be read"));
}

TEST(Environment, aGpuTargetWithoutAGpuSaysWhatToDo) {
  if (std::filesystem::exists("/dev/nvidia0"))
    GTEST_SKIP() << "there is a GPU";
  Ended ended = attnc({"run", "full", "--target", "sm_90a"});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, HasSubstr("--target cpu"));
}

TEST(Environment, theNativeTargetIsAGpu) {
  if (std::filesystem::exists("/dev/nvidia0"))
    GTEST_SKIP() << "there is a GPU";
  for (const char *command : {"compile", "run", "check", "explain"}) {
    Ended ended = attnc({command, "full", "--target", "native"});
    EXPECT_EQ(ended.exit, 4) << command;
    EXPECT_THAT(ended.err, HasSubstr("the target native is the GPU of this machine: ")) << command;
    EXPECT_THAT(ended.err, HasSubstr("--target sm_90a")) << command;
  }
}

TEST(Environment, aTargetThatNobodyNamedIsExplained) {
  if (std::filesystem::exists("/dev/nvidia0"))
    GTEST_SKIP() << "there is a GPU";
  Ended ended = attnc({"compile", "full", "--emit", "ptx"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("no GPU was found, hence cpu, and the target cpu has no 'ptx'"));
  EXPECT_THAT(ended.err, HasSubstr("add --target sm_80 or --target sm_90a"));
}

TEST(Environment, aFullDiskIsNamed) {
  Ended ended = attnc({"compile", "full", "--emit", "attn", "-o", "/dev/full"});
  EXPECT_EQ(ended.exit, 4);
  EXPECT_THAT(ended.err, HasSubstr("'/dev/full' cannot be written"));
}

/// What a schedule file holds, and what is said of it; the file's name is before that.
struct WrongSchedule {
  const char *text, *says;
};

class ScheduleFiles : public testing::Test {
protected:
  Ended compileWith(const std::string &text, std::vector<std::string> more = {}) {
    file = folder.write("s.json", text);
    std::vector<std::string> arguments = {"compile",  "causal", "--emit",     "tile",
                                          "--target", "sm_90a", "--schedule", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return attnc(arguments);
  }

  TemporaryFolder folder;
  std::string file;
};

TEST_F(ScheduleFiles, theFileTheKernelAndTheValueAreNamed) {
  for (auto [text, says] : {
           WrongSchedule{R"({"groups": "2"})", "groups is an integer, not \"2\""},
           {R"({"groups": 18446744073709551615})",
            "groups is an integer of 64 bits, and the number is larger"},
           {R"({"form": "warp"})",
            "form is \"warpgroups\", \"portable\", \"rows\" or \"generic\", not \"warp\""},
           {R"({"causal_o": [1]})", "causal_o is an object of keys, not [1]"},
           {R"({"causal_o": {"groups": 9}})", "causal_o: groups is 9; it is 1 to 4"},
           {R"({"causl_o": {"groups": 2}})", "there is no kernel 'causl_o'; there is causal_o"},
           {"[1]", "it is a list, not an object of keys"},
       }) {
    Ended ended = compileWith(text);
    EXPECT_EQ(ended.exit, 2) << text;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "error: schedule " + file + ": " + says + "\n");
  }
}

TEST_F(ScheduleFiles, mistakesOfSyntaxHaveLineAndColumn) {
  for (auto [text, says] : {
           WrongSchedule{"{\n  \"groups\": 2,\n  }",
                         ":2:14: error: a comma with nothing behind it"},
           {"{groups: 2}", ":1:2: error: 'groups' is not JSON"},
           {"{'groups': 2}", ":1:2: error: JSON has no strings in single quotes"},
           {"{\"groups\": 2", ":1:1: error: this object is not closed"},
           {"", ":1:1: error: the file is empty"},
           {"{\"groups\": \"2\n}", ":1:12: error: the string does not end in its line"},
           {"{\"groups\": \"\t\"}", ":1:13: error: a string holds the control character U+0009"},
           {"{\"groups\": 2,\n \"groups\": 3}", ":2:2: error: the key 'groups' occurs twice"},
       }) {
    Ended ended = compileWith(text);
    EXPECT_EQ(ended.exit, 2) << text;
    EXPECT_THAT(ended.err, testing::StartsWith(file + ":"));
    EXPECT_THAT(ended.err, HasSubstr(says));
    EXPECT_THAT(ended.err, testing::Not(HasSubstr("parsing")));
    auto json = compileWith(text, {"--json"}).json();
    EXPECT_EQ(json.at("exit"), 2);
    EXPECT_EQ(json.at("diagnostics").at(0).at("file"), file);
  }
}

TEST_F(ScheduleFiles, aSpecWithAScheduleOfItsOwnIsNamedBesideTheFile) {
  std::string text = R"json({"attnc": 1, "name": "twice", "inputs": {"x": "f32[n]"},
    "body": ["y = x[n] + x[n]"], "outputs": {"y": "f32"}, "schedule": {"threads": 100}})json";
  std::string other = folder.write("s.json", R"({"form": "generic"})");
  Ended ended =
      attnc({"compile", "-", "--emit", "tile", "--target", "sm_80", "--schedule", other}, text);
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err,
              HasSubstr("schedule " + other + ", with that of the spec: threads is 100"));
}

TEST_F(ScheduleFiles, ofASpecHaveTheirPlace) {
  std::string text = R"json({"attnc": 1, "name": "twice", "inputs": {"x": "f32[n]"},
    "body": ["y = x[n] + x[n]"], "outputs": {"y": "f32"},
    "schedule": {"threads": 100}})json";
  Ended ended = attnc({"compile", "-", "--emit", "tile", "--target", "sm_80"}, text);
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr(":3:17: error: schedule: threads is 100"));
}

TEST_F(ScheduleFiles, theProcessorPassesThemOverAndSaysSo) {
  file = folder.write("s.json", R"({"fold": "two_pass", "groups": 2})");
  for (const char *command : {"run", "check", "explain"}) {
    Ended ended = attnc({command, "causal", "--target", "cpu", "--schedule", file});
    EXPECT_EQ(ended.exit, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("the target cpu does not use groups of " + file));
  }
}

TEST_F(ScheduleFiles, ofTheProcessorHaveTheirKeysChecked) {
  file = folder.write("s.json", R"({"grups": 2})");
  Ended ended = attnc({"check", "causal", "--target", "cpu", "--schedule", file});
  EXPECT_NE(ended.exit, 0);
  EXPECT_THAT(ended.out + ended.err, HasSubstr("unknown key 'grups'"));

  std::string spec = R"json({"attnc": 1, "name": "twice", "inputs": {"x": "f32[n]"},
    "body": ["y = x[n] + x[n]"], "outputs": {"y": "f32"}, "reference": {"shape": {"n": 5}},
    "schedule": )json";
  ended = attnc({"run", "-", "--target", "cpu"}, spec + R"({"foldd": "auto"}})");
  EXPECT_EQ(ended.exit, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("unknown key 'foldd'"));
  ended = attnc({"run", "-", "--target", "cpu"}, spec + R"({"threads": 64}})");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err,
              HasSubstr("the target cpu does not use threads of the `schedule` of twice"));
}

TEST_F(ScheduleFiles, areCheckedByCheck) {
  file = folder.write("s.json", R"({"causal_o": {"groups": 9}})");
  Ended ended =
      attnc({"check", "causal", "--target", "sm_90a", "--interpret", "--schedule", file, "--json"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.json().at("checks").at(0).at("error").at("message").get<std::string>(),
              HasSubstr("schedule " + file + ": causal_o: groups is 9"));
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

TEST(Inputs, thatDisagreeAreNamedWithTheirDeclarations) {
  TemporaryFolder folder;
  NpyArray k{DType::BF16, {1, 1, 3, 64}, std::vector<std::byte>(384)};
  NpyArray v{DType::BF16, {1, 1, 2, 64}, std::vector<std::byte>(256)};
  ASSERT_TRUE(writeNpy(k, folder.file("k.npy")).ok());
  ASSERT_TRUE(writeNpy(v, folder.file("v.npy")).ok());
  Ended ended = attnc({"run", "full", "--target", "cpu", "--input", "k=" + folder.file("k.npy"),
                       "--input", "v=" + folder.file("v.npy")});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("input 'v' gives dim 'j' the extent 2, input 'k' gives it 3"));
  EXPECT_THAT(ended.err, HasSubstr("input 'k' is declared at full.json:"));
  EXPECT_THAT(ended.err, HasSubstr("input 'v' is declared at full.json:"));
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
