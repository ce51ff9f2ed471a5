// What is in the key of a program, and what is not: the rows of the table in docs/cache.md.
#include "compiler/jit/program_key.h"
#include "tests/unit/jit/parsed_spec.h"

using namespace attnc;
using namespace attnc::test;

namespace {

std::string keyOf(const ParsedSpec &parsed) { return programKey(*parsed.spec, {}); }

/// With one option changed.
template <typename Value>
std::string keyWith(const ParsedSpec &parsed, Value driver::CompileOptions::*option,
                    std::type_identity_t<Value> value) {
  driver::CompileOptions options;
  options.*option = std::move(value);
  return programKey(*parsed.spec, options);
}

std::string with(std::string text, const std::string &from, const std::string &to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ProgramKey, IsTheSameForTheSame) {
  EXPECT_EQ(keyOf(ParsedSpec()), keyOf(ParsedSpec()));
  EXPECT_EQ(keyOf(ParsedSpec()).size(), 64u);
}

TEST(ProgramKey, HasNoPath) {
  EXPECT_EQ(keyOf(ParsedSpec(softmaxSpec, "/somewhere/else/other.json")), keyOf(ParsedSpec()));
}

TEST(ProgramKey, HasTheSpec) {
  std::string key = keyOf(ParsedSpec());
  EXPECT_NE(keyOf(ParsedSpec(with(softmaxSpec, "* scale", "+ scale"))), key);
  EXPECT_NE(keyOf(ParsedSpec(with(softmaxSpec, "\"softmax\"", "\"softmay\""))), key);
  EXPECT_NE(keyOf(ParsedSpec(with(softmaxSpec, "f32 > 0 = 1", "f32 > 0 = 2"))), key);
}

TEST(ProgramKey, HasPlacesBecauseErrorsSayThem) {
  EXPECT_NE(keyOf(ParsedSpec("\n" + softmaxSpec)), keyOf(ParsedSpec()));
}

TEST(ProgramKey, HasNoCommentsThatMoveNothing) {
  EXPECT_EQ(keyOf(ParsedSpec(softmaxSpec + "\n// the end")), keyOf(ParsedSpec()));
}

TEST(ProgramKey, HasTheReferenceShape) {
  EXPECT_NE(keyOf(ParsedSpec(with(softmaxSpec, "\"i\": 5", "\"i\": 6"))), keyOf(ParsedSpec()));
}

TEST(ProgramKey, HasWhatIsSet) {
  EXPECT_NE(keyOf(ParsedSpec(softmaxSpec, "s.json", {{{"d", "32"}}})), keyOf(ParsedSpec()));
  EXPECT_NE(keyOf(ParsedSpec(softmaxSpec, "s.json", {{{"T", "f16"}}})), keyOf(ParsedSpec()));
  EXPECT_EQ(keyOf(ParsedSpec(softmaxSpec, "s.json", {{{"d", "16"}}})), keyOf(ParsedSpec()));
}

TEST(ProgramKey, HasTheScheduleOfTheSpec) {
  std::string scheduled =
      with(softmaxSpec, "\"reference\"", "\"schedule\": {\"stages\": 2}, \"reference\"");
  std::string other =
      with(softmaxSpec, "\"reference\"", "\"schedule\": {\"stages\": 3}, \"reference\"");
  EXPECT_NE(keyOf(ParsedSpec(scheduled)), keyOf(ParsedSpec(other)));
}

TEST(ProgramKey, HasTheOptions) {
  ParsedSpec parsed;
  std::string key = keyOf(parsed);
  EXPECT_NE(keyWith(parsed, &driver::CompileOptions::target, "sm_80"), key);
  EXPECT_NE(keyWith(parsed, &driver::CompileOptions::schedule, {{"fold", "one_pass"}}), key);
  EXPECT_NE(keyWith(parsed, &driver::CompileOptions::keepTexts, false), key);
  EXPECT_NE(keyWith(parsed, &driver::CompileOptions::memoryBudget, 1), key);
  EXPECT_NE(keyWith(parsed, &driver::CompileOptions::memoryBudget, 1),
            keyWith(parsed, &driver::CompileOptions::memoryBudget, 2));
}

TEST(ProgramKey, HasTheMeasuredSchedulesOfGpus) {
  ParsedSpec parsed;
  auto key = [&](const char *target, const schedule::TuningDatabase *tuned) {
    driver::CompileOptions options;
    options.target = target;
    options.tuned = tuned;
    return programKey(*parsed.spec, options);
  };
  schedule::TuningDatabase empty, database;
  schedule::TuningFile file{"a GPU", 1, {}};
  file.put({"key", "sm_80", "kernel", {{"stages", 2}}, 1.0, {}, "2026-01-01", "13.0"});
  database.add("somewhere", file);
  EXPECT_NE(key("sm_80", &database), key("sm_80", &empty));
  EXPECT_EQ(key("sm_80", nullptr), key("sm_80", &empty));
  EXPECT_EQ(key("cpu", &database), key("cpu", nullptr)) << "nobody asks them there";
}

TEST(ProgramKey, DoesNotHaveTheExtentsThatReportsCountAt) {
  ParsedSpec parsed;
  EXPECT_EQ(keyWith(parsed, &driver::CompileOptions::extents, {{"i", 9}}), keyOf(parsed));
}

} // namespace
