#include "tests/unit/cpp/specs.h"

using namespace attnc;
using namespace attnc::test;

namespace {

TEST(SpecBuilder, WritesALineForEachThing) {
  std::string text = SpecBuilder("all")
                         .doc("A sentence")
                         .type("T", "f32")
                         .dim("d", 4)
                         .dim("n", "size(m)")
                         .let("steps", 2)
                         .let("half", "size(d) // 2")
                         .require("size(i) > 1")
                         .param("by", "f32 = 2")
                         .input("x", "T[i, d]")
                         .input("z", "T[m]")
                         .statement("y = x")
                         .repeat("steps", {"y"}, {"t = y + 1", "y = t * by"})
                         .repeat(3, {"y", "z"}, {})
                         .output("y", "T")
                         .grad("x")
                         .grad("z")
                         .text();
  const char *expected = R"json({
  "attnc": 1,
  "name": "all",
  "doc": "A sentence",
  "types": {
    "T": "f32"
  },
  "dims": {
    "d": 4,
    "n": "size(m)"
  },
  "let": {
    "steps": 2,
    "half": "size(d) // 2"
  },
  "require": [
    "size(i) > 1"
  ],
  "params": {
    "by": "f32 = 2"
  },
  "inputs": {
    "x": "T[i, d]",
    "z": "T[m]"
  },
  "body": [
    "y = x",
    {"repeat": "steps", "carry": ["y"], "body": ["t = y + 1", "y = t * by"]},
    {"repeat": 3, "carry": ["y", "z"], "body": []}
  ],
  "outputs": {
    "y": "T"
  },
  "grad": [
    "x",
    "z"
  ]
}
)json";
  EXPECT_EQ(text, expected);
}

TEST(SpecBuilder, WhatItWritesRuns) {
  SpecBuilder builder("powers");
  builder.let("steps", 3)
      .input("x", "f32[i]")
      .statement("y = x")
      .repeat("steps", {"y"}, {"y = y * 2"})
      .output("y", "f32");
  float x[] = {1, 3}, y[2];
  Status done = loaded(builder).launch({{{"x", x, {2}}, {"y", y, {2}}}});
  ASSERT_EQ(said(done), "");
  EXPECT_EQ(y[0], 8);
  EXPECT_EQ(y[1], 24);
}

/// Whatever a text holds, the JSON is one: nothing of it can end its string.
TEST(SpecBuilder, QuotesWhateverTextsHold) {
  std::string text = "\"}, \"body\": [\\\" \n\t\r\x01 naïve";
  text.push_back('\0');
  SpecBuilder builder = scaled().doc(text);
  EXPECT_NE(builder.text().find(R"("\"}, \"body\": [\\\" \u000a\u0009\u000d\u0001 naïve\u0000")"),
            std::string::npos)
      << builder.text();
  compiled(builder);
}

TEST(SpecBuilder, ErrorsHavePlacesInItsText) {
  Result<Program> twice = compile(scaled().input("x", "T[n]").spec("mine"), {"cpu"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::Spec);
  EXPECT_NE(twice.error().message.find("mine:15:5"), std::string::npos) << twice.error().message;
}

TEST(Spec, AFileIsReadAtEachCompile) {
  std::string path = testing::TempDir() + "attnc_cpp_api_spec.json";
  for (const char *name : {"first", "second"}) {
    std::FILE *file = std::fopen(path.c_str(), "w");
    ASSERT_TRUE(file);
    std::fputs(SpecBuilder(name)
                   .input("x", "f32[i]")
                   .statement("y = x + 1")
                   .output("y", "f32")
                   .text()
                   .c_str(),
               file);
    std::fclose(file);
    Result<Program> program = compile(Spec::fromFile(path), {"cpu"});
    ASSERT_EQ(said(program), "");
    EXPECT_EQ(program->name(), name);
  }
  std::remove(path.c_str());
  EXPECT_EQ(compile(Spec::fromFile(path), {"cpu"}).error().kind, ErrorKind::Environment);
}

} // namespace
