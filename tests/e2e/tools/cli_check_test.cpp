// What `run` and `check` say of results: verdicts, reads outside, and passes.
#include "runtime/npy/npy.h"
#include "tests/e2e/tools/tool.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Writes integers as an array on disk; returns "name=file".
std::string writeIntegers(const TemporaryFolder &folder, const std::string &name,
                          const std::vector<int64_t> &shape, const std::vector<int32_t> &values) {
  NpyArray array{DType::I32, shape, {}};
  array.data.resize(values.size() * sizeof(int32_t));
  std::memcpy(array.data.data(), values.data(), array.data.size());
  std::string file = folder.file(name + ".npy");
  EXPECT_TRUE(writeNpy(array, file).ok());
  return name + "=" + file;
}

//===--- lengths and tables ----------------------------------------------------------------===//

class PaddedTable : public testing::Test {
protected:
  /// Two sequences of 3 and 5 keys in blocks of 4.
  Ended check(const std::vector<int32_t> &table) {
    std::string spec = folder.write("paged.json", R"json({"attnc": 1,
      "dims": {"t": 4, "j": {"extent": "len[b]", "max": "size(w) * size(t)"}},
      "inputs": {"kp": "f32[p, t]", "tab": "i32[b, w]", "len": "i32[b]"},
      "body": ["o = sum(j, kp[tab[b, j // 4], j % 4])"], "outputs": {"o": "f32"}})json");
    return attnc({"run", spec, "--target", "cpu", "--shape", "p=3", "--check-bounds", "--check",
                  "--input", writeIntegers(folder, "tab", {2, 2}, table), "--input",
                  writeIntegers(folder, "len", {2}, {3, 5})});
  }
  TemporaryFolder folder;
};

TEST_F(PaddedTable, whatLiesBeyondALengthIsNotRead) {
  Ended ended = check({0, -1, 1, 2});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no subscript that comes from data falls outside"));
}

TEST_F(PaddedTable, whatIsReadIsReportedAsAnError) {
  Ended ended = check({0, -1, 1, -1}); // key 4 of the second sequence
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err, HasSubstr("error: --check-bounds: "));
  EXPECT_THAT(ended.err, HasSubstr("kp: the subscript `tab[b, j // 4]` of 'p' is -1 at b=1, j=4; "
                                   "the extent is 3, so 0 is read (1 of 8 are outside)"));
}

TEST(PackedOffsets, thatLeaveTheRowsAreReported) {
  TemporaryFolder folder;
  std::string spec = folder.write("packed.json", R"json({"attnc": 1,
    "dims": {"b": "size(n) - 1", "i": {"ragged": "cu", "over": "b"}},
    "inputs": {"x": "f32[i]", "cu": "i32[n]"}, "body": ["o = mean(i, x)"],
    "outputs": {"o": "f32"}})json");
  auto check = [&](const std::vector<int32_t> &offsets) {
    return attnc({"run", spec, "--target", "cpu", "--shape", "i_rows=5", "--check-bounds",
                  "--input", writeIntegers(folder, "cu", {3}, offsets)});
  };
  EXPECT_EQ(check({0, 2, 5}).exit, 0);
  EXPECT_EQ(check({1, 1, 3}).exit, 0); // rows of no sequence are none of its business
  Ended beyond = check({2, 4, 6});
  EXPECT_EQ(beyond.exit, 1);
  EXPECT_THAT(beyond.err, HasSubstr("the sequence of 'i' has the rows 4 to 5 at b=1, of 5 that "
                                    "there are, so 0 is read for the others (1 of 2 are outside)"));
  Ended longer = check({0, 3, 9});
  EXPECT_EQ(longer.exit, 1);
  EXPECT_THAT(longer.err, HasSubstr("the rows 3 to 8 at b=1, of 5"));
  EXPECT_THAT(longer.err, Not(HasSubstr("5 counts")));
  EXPECT_THAT(check({-1, 2, 5}).err, HasSubstr("the rows -1 to 1 at b=0"));
  EXPECT_THAT(check({2, 0, 5}).err, HasSubstr("the length of 'i' is -2 at b=0, not in 0..5"));
}

//===--- verdicts --------------------------------------------------------------------------===//

Ended checked(const std::string &expression, const std::string &inputs) {
  return attnc({"run", "-", "--target", "cpu", "--shape", "i=67,j=130", "--check", "--json"},
               R"({"attnc": 1, "inputs": {)" + inputs + R"(}, "body": [")" + expression +
                   R"("], "outputs": {"o": "f32"}})");
}

TEST(Verdict, anIndexThatRoundingMayTurnIsNotDecided) {
  Ended ended =
      checked("o = v[cast(3.7 * i * x, i64) % size(j)]", R"("x": "f32[i]", "v": "f32[j]")");
  EXPECT_EQ(ended.exit, 0) << ended.err; // of a few elements
  ended = checked("o = v[cast(1e9 * x, i64) % size(j)]", R"("x": "f32[i]", "v": "f32[j]")");
  EXPECT_EQ(ended.exit, 1) << ended.err;
  auto json = ended.json();
  EXPECT_EQ(json.at("check").at("verdict"), "undecided");
  EXPECT_EQ(json.at("check").at("ok"), false);
  const auto &output = json.at("check").at("comparisons").at(0);
  EXPECT_EQ(output.at("failures"), 0);
  EXPECT_GT(output.at("undecided"), 60);
  EXPECT_THAT(output.at("why").get<std::string>(), HasSubstr("does not decide"));
}

TEST(Verdict, aToleranceBeyondTheResultDecidesNothing) {
  const std::string x = R"("x": "f32[i, j]")";
  EXPECT_EQ(
      checked("o = sum(j, 1e9 * x + x) - sum(j, 1e9 * x)", x).json().at("check").at("verdict"),
      "undecided");
  // What cancels to nothing is known as well as its terms are.
  EXPECT_EQ(checked("o = sum(j, x) - sum(j, 1 * x)", x).json().at("check").at("verdict"), "ok");
  EXPECT_EQ(checked("o = sum(j, x)", x).json().at("check").at("verdict"), "ok");
}

TEST(Verdict, standsInTheTableOfCheck) {
  TemporaryFolder folder;
  std::string spec = folder.write("vague.json", R"json({"attnc": 1,
    "inputs": {"x": "f32[i, j]"}, "body": ["o = sum(j, 1e9 * x + x) - sum(j, 1e9 * x)"],
    "outputs": {"o": "f32"}, "reference": {"shape": {"i": 9, "j": 100}}})json");
  Ended ended = attnc({"check", spec, "full", "--target", "cpu"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.out, HasSubstr("undecided"));
  EXPECT_THAT(ended.out, Not(HasSubstr("FAILED")));
  EXPECT_THAT(ended.out, HasSubstr("does not decide 9 of 9 elements"));
}

//===--- passes ----------------------------------------------------------------------------===//

TEST(VerifyPasses, takesTheShapeAndTheParamsOfTheRun) {
  const std::string spec = R"json({"attnc": 1, "params": {"w": "i64 > 0"},
    "inputs": {"x": "f32[i]"}, "require": ["REQUIRE"],
    "body": ["o = sum(i, x * w)"], "outputs": {"o": "f32"}})json";
  auto requiring = [&](const std::string &fact) {
    std::string text = spec;
    return text.replace(text.find("REQUIRE"), 7, fact);
  };
  std::vector<std::string> run = {"run",     "-",   "--target",       "cpu", "--shape", "i=5",
                                  "--param", "w=3", "--verify-passes"};
  EXPECT_EQ(attnc(run, requiring("size(i) <= 5")).exit, 0);
  // Without them: small extents, and a value of the range.
  Ended compiled = attnc({"compile", "-", "--target", "cpu", "--emit", "red", "--verify-passes"},
                         requiring("size(i) > 2"));
  EXPECT_EQ(compiled.exit, 0) << compiled.err;
  Ended refused = attnc({"compile", "-", "--target", "cpu", "--emit", "red", "--verify-passes"},
                        requiring("size(i) > 1000"));
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.err, HasSubstr("passes cannot be verified"));
  EXPECT_THAT(refused.err, HasSubstr("--shape"));
}

TEST(Requirements, thatLeave64BitsAreRefusedByTheReferenceAsWell) {
  const std::string spec = R"json({"attnc": 1, "inputs": {"x": "f32[i]"},
    "require": ["size(i) * 4611686018427387904 >= 0"], "body": ["o = sum(i, x)"],
    "outputs": {"o": "f32"}})json";
  for (const char *target : {"cpu", "reference"}) {
    EXPECT_EQ(attnc({"run", "-", "--target", target, "--shape", "i=1"}, spec).exit, 0) << target;
    Ended ended = attnc({"run", "-", "--target", target, "--shape", "i=4"}, spec); // wraps to 0
    EXPECT_EQ(ended.exit, 2) << target;
    EXPECT_THAT(ended.err, HasSubstr("64 bits")) << target;
  }
}

//===--- explain ---------------------------------------------------------------------------===//

TEST(Explain, whatIsSelectedAlongTheStreamIsStreamed) {
  for (const char *name : {"ragged", "paged"}) {
    auto json = attnc({"explain", name, "--target", "cpu", "--json"}).json();
    const auto &kernels = json.at("kernels");
    const auto &nest = *std::find_if(kernels.begin(), kernels.end(), [](const auto &kernel) {
      return kernel.at("states").dump().find("p_max") != std::string::npos;
    });
    std::string streamed = nest.at("streamed").dump(), resident = nest.at("resident").dump();
    for (const char *tensor : {"k", "v"}) {
      std::string key = std::string("\"") + tensor + (name == std::string("paged") ? "p" : "");
      EXPECT_THAT(streamed, HasSubstr(key)) << name;
      EXPECT_THAT(resident, Not(HasSubstr(key))) << name;
    }
    EXPECT_THAT(resident, HasSubstr("\"q")) << name;
  }
  Ended ragged = attnc({"explain", "ragged", "--target", "cpu"});
  EXPECT_THAT(ragged.out, HasSubstr("q: i_row selects along i_rows; beyond a length, 0 is read"));
  EXPECT_THAT(ragged.out, Not(HasSubstr(": ;")));
}

} // namespace
} // namespace attnc::e2e
