// Specs that extend another one.
#include "compiler/frontend/text/extended_spec.h"
#include "dialects/Attn/SpecLocation.h"
#include "spec_fixture.h"

#include <gmock/gmock.h>

namespace attnc {
namespace {

using ::testing::HasSubstr;

const std::string twoLines = "[\"p = softmax(j,\",\n  \"  s)\"]";
const std::string baseText =
    "{\"attnc\": 1,\n"
    "\"name\": \"base\",\n"
    "\"doc\": \"What is extended\",\n"
    "\"dims\": { \"d\": 8 },\n"
    "\"params\": { \"scale\": \"f32 = 1/sqrt(size(d))\" },\n"
    "\"require\": [\"size(i) >= 1\"],\n"
    "\"inputs\": { \"q\": \"f32[i, d]\", \"k\": \"f32[j, d]\", \"v\": \"f32[j]\" },\n"
    "\"body\": [\n"
    "  \"s = sum(d, q * k) * scale\",\n" +
    twoLines +
    ",\n"
    "  \"o[i] = sum(j, p * v)\"],\n"
    "\"outputs\": { \"o\": \"f32\" },\n"
    "\"reference\": { \"shape\": { \"i\": 3, \"j\": 5 } } }\n";

class ExtendedSpec : public SpecFixture {
protected:
  std::optional<Spec> extend(const std::string &members, const Overrides &overrides = {}) {
    return parseWith("{\"attnc\": 1, \"extends\": \"base\"" +
                         (members.empty() ? "" : ", " + members) + "}",
                     overrides);
  }
  std::optional<Spec> parseWith(const std::string &text, const Overrides &overrides = {}) {
    diagnostics = Diagnostics();
    return parseSpec(context, "t.json", text, overrides, diagnostics, bases());
  }
  SpecBases bases() const {
    return {[this](llvm::StringRef name, llvm::StringRef) -> std::optional<SpecSource> {
              auto found = files.find(name.str());
              if (found == files.end())
                return std::nullopt;
              return SpecSource{name.str() + ".json", found->second, isFile};
            },
            {"base"}};
  }
  /// What an extension means, written out.
  void expectSame(std::optional<Spec> extended, const std::string &whole) {
    ASSERT_TRUE(extended) << rendered();
    std::string text = printed(*extended);
    std::optional<Spec> written = parse(whole);
    ASSERT_TRUE(written) << rendered();
    EXPECT_EQ(text, printed(*written));
    EXPECT_EQ(extended->reference, written->reference);
  }
  static std::string with(std::string text, const std::string &old, const std::string &other) {
    size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), other);
  }
  static std::string ownName(std::string text) {
    return with(with(std::move(text), "\"name\": \"base\",\n", ""),
                "\"doc\": \"What is extended\",\n", "");
  }

  std::map<std::string, std::string> files = {{"base", baseText}};
  bool isFile = false;
};

TEST_F(ExtendedSpec, IsTheBaseUnderItsOwnName) {
  std::optional<Spec> spec = extend("");
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(spec->name, "t");
  EXPECT_EQ(spec->doc, "");
  expectSame(std::move(spec), ownName(baseText));
}

TEST_F(ExtendedSpec, AStatementReplacesTheOneOfItsName) {
  expectSame(extend(R"j("body": ["p = softmax(j, where(j <= i, s, -inf))"])j"),
             with(ownName(baseText), twoLines, "\"p = softmax(j, where(j <= i, s, -inf))\""));
}

TEST_F(ExtendedSpec, WhatIsNewStandsBeforeTheNextThatReplaces) {
  expectSame(extend(R"j("body": ["t = tanh(s)", "p = softmax(j, t)", "m[i] = max(j, s)"],
                       "outputs": {"m": "f32"})j"),
             with(with(ownName(baseText), twoLines, "\"t = tanh(s)\", \"p = softmax(j, t)\""),
                  "\"o[i] = sum(j, p * v)\"],\n\"outputs\": { \"o\": \"f32\" }",
                  "\"o[i] = sum(j, p * v)\", \"m[i] = max(j, s)\"],"
                  "\"outputs\": { \"o\": \"f32\", \"m\": \"f32\" }"));
}

TEST_F(ExtendedSpec, ObjectsAreJoinedAndNullRemoves) {
  expectSame(extend(R"j("dims": {"d": 16}, "params": {"scale": null, "cap": "f32 = 30"},
                       "require": ["size(j) >= 1"], "inputs": {"b": "f32[i, j]"},
                       "body": ["s = cap * tanh(sum(d, q * k) / cap) + b"],
                       "reference": {"shape": {"j": 7}})j"),
             R"j({"attnc": 1, "dims": {"d": 16}, "params": {"cap": "f32 = 30"},
                 "require": ["size(i) >= 1", "size(j) >= 1"],
                 "inputs": {"q": "f32[i, d]", "k": "f32[j, d]", "v": "f32[j]", "b": "f32[i, j]"},
                 "body": ["s = cap * tanh(sum(d, q * k) / cap) + b", "p = softmax(j, s)",
                          "o[i] = sum(j, p * v)"],
                 "outputs": {"o": "f32"}, "reference": {
  "shape" : {"i" : 3, "j" : 7}}})j");
}

TEST_F(ExtendedSpec, ExtendsWhatExtends) {
  files["causal"] = R"j({"attnc": 1, "extends": "base",
                        "body": ["p = softmax(j, where(j <= i, s, -inf))"]})j";
  expectSame(parseWith(R"j({"attnc": 1, "extends": "causal", "dims": {"d": 4}})j"),
             with(with(ownName(baseText), twoLines, "\"p = softmax(j, where(j <= i, s, -inf))\""),
                  "\"d\": 8", "\"d\": 4"));
}

TEST_F(ExtendedSpec, WhatIterationsBeginWithAndTheyThemselvesAreApart) {
  const char *turns = R"j({"attnc": 1, "inputs": {"x": "f32[i]"}, "body": ["z = x", "y = x",
      {"repeat": 2, "carry": ["z", "y"], "body": ["z = z + 1", "y = y * z"]}, "o = y + z"],
      "outputs": {"o": "f32"}})j";
  files["turns"] = turns;
  expectSame(parseWith(R"j({"attnc": 1, "extends": "turns", "body": ["z = 2 * x"]})j"),
             with(turns, "\"z = x\"", "\"z = 2 * x\""));
  expectSame(parseWith(R"j({"attnc": 1, "extends": "turns", "body": [
                 {"repeat": 3, "carry": ["z", "y"], "body": ["y = y * z", "z = z + 2"]}]})j"),
             with(turns,
                  R"j({"repeat": 2, "carry": ["z", "y"], "body": ["z = z + 1", "y = y * z"]})j",
                  R"j({"repeat": 3, "carry": ["z", "y"], "body": ["y = y * z", "z = z + 2"]})j"));
}

TEST_F(ExtendedSpec, PlacesAreThoseOfTheFiles) {
  std::optional<Spec> spec = extend(R"j("body": ["p = softmax(j, 2 * s)"])j");
  ASSERT_TRUE(spec) << rendered();
  auto softmax = opsOf<attn::SoftmaxOp>(*spec)[0];
  auto sum = opsOf<attn::ReduceOp>(*spec)[0];
  EXPECT_THAT(attn::specPlace(softmax.getLoc()), HasSubstr("t.json:1:"));
  EXPECT_EQ(attn::specPlace(sum.getLoc()), "base.json:9:8");
}

TEST_F(ExtendedSpec, AMistakeOfTheBaseIsShownThere) {
  files["base"] = with(baseText, "sum(d, q * k)", "sum(d, q * kk)");
  EXPECT_FALSE(extend(""));
  EXPECT_THAT(rendered(), HasSubstr("base.json:9:19: error: unknown name 'kk'"));
  files["base"] = with(baseText, "\"attnc\": 1,", "\"attnc\": 1");
  EXPECT_FALSE(extend(""));
  EXPECT_THAT(rendered(), HasSubstr("base.json:"));
}

TEST_F(ExtendedSpec, AChangeThatTheBaseDoesNotBearIsShownInTheBase) {
  EXPECT_FALSE(extend(R"j("params": {"scale": null})j"));
  EXPECT_THAT(rendered(), HasSubstr("base.json:9:24: error: unknown name 'scale'"));
}

TEST_F(ExtendedSpec, WhatTheChangesLeaveUnusedIsNoWarning) {
  EXPECT_TRUE(
      extend(R"j("body": ["p = softmax(j, 0 * i + 0 * j)"], "params": {"scale": "f32 = 1"})j"));
  EXPECT_EQ(rendered().find("base.json"), std::string::npos) << rendered();
}

TEST_F(ExtendedSpec, Mistakes) {
  std::pair<const char *, const char *> cases[] = {
      {R"j({"attnc": 1, "extends": "bas"})j", "there is no spec 'bas' to extend\n  {\"attnc\": 1, "
                                              "\"extends\": \"bas\"}\n                          "
                                              "^\n  did you mean 'base'?"},
      {R"j({"attnc": 1, "extends": 3})j", "'extends' is a string, this is an integer"},
      {R"j({"attnc": 1, "extends": "base", "params": {"scal": null}})j",
       "there is no 'scal' to remove in what this extends"},
      {R"j({"attnc": 1, "extends": "base", "parms": {"scale": "f32 = 1"}})j",
       "unknown key 'parms'"},
      {R"j({"attnc": 1, "extends": "base", "body": 3})j", "'body' is a list, this is an integer"},
      {R"j({"attnc": 1, "extends": "base", "inputs": []})j", "'inputs' is an object"},
      {R"j({"attnc": 1, "extends": "self"})j", "extends this spec, or is it"},
      {R"j({"attnc": 1, "extends": "list"})j", "'list' is no spec, but a list"},
      {R"j({"attnc": 1, "extends": "twice", "body": ["p = 2 * s"]})j",
       "'p' is assigned again in line 1 of twice.json"},
      {R"j({"attnc": 1, "extends": "turns", "body": [
            {"repeat": 3, "carry": ["z"], "body": ["z = z + 2"]}]})j",
       "this assigns 'z', and what it replaces in turns.json assigns 'y', 'z'"}};
  files["self"] = R"j({"attnc": 1, "extends": "self"})j";
  files["list"] = "[]";
  files["twice"] = R"j({"attnc": 1, "extends": "base", "body": ["p = softmax(j, s)", "p = p * 2"]
})j";
  files["turns"] = R"j({"attnc": 1, "extends": "base", "body": ["z = 1", "y = 1",
      {"repeat": 2, "carry": ["z", "y"], "body": ["z = z + 1", "y = y * z"]}]})j";
  for (auto [text, message] : cases) {
    EXPECT_FALSE(parseWith(text)) << text;
    EXPECT_THAT(rendered(), HasSubstr(message)) << text;
  }
}

TEST_F(ExtendedSpec, WithoutBasesThereIsNothingToExtend) {
  const char *text = R"j({"attnc": 1, "extends": "base"})j";
  EXPECT_FALSE(parseSpec(context, "t.json", text, {}, diagnostics));
  EXPECT_THAT(rendered(), HasSubstr("there is no spec 'base' to extend"));
}

TEST_F(ExtendedSpec, OnlyWhatExtendsFilesHasNoTextForOthers) {
  EXPECT_NE(extend("")->text, "");
  isFile = true;
  EXPECT_EQ(extend("")->text, "");
  EXPECT_NE(parseWith(baseText)->text, "");
}

TEST_F(ExtendedSpec, AllThatASpecExtends) {
  files["more"] = R"j({"attnc": 1, "extends": "base"})j";
  for (const char *text : {R"j({"extends": "more"})j", R"j({"ext\u0065nds": "more"})j"}) {
    std::vector<SpecSource> sources = basesOf("t.json", text, bases());
    ASSERT_EQ(sources.size(), 2u) << text;
    EXPECT_EQ(sources[0].text, files["more"]);
    EXPECT_EQ(sources[1].fileName, "base.json");
  }
  EXPECT_TRUE(basesOf("t.json", baseText, bases()).empty());
}

TEST_F(ExtendedSpec, MayHaveTheNameOfWhatItExtends) {
  files["t"] = baseText;
  EXPECT_TRUE(parseWith(R"j({"attnc": 1, "extends": "t"})j")) << rendered();
}

} // namespace
} // namespace attnc
