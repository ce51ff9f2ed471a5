// `repeat`: what an iteration sees and hands on, and every mistake with its place. In the texts, @@
// marks where the one error is.
#include "spec_fixture.h"

namespace attnc {
namespace {

class Repeat : public SpecFixture {
protected:
  /// A spec with this body over x[b, i] and a[m, n], of which `z` is the output.
  static std::string withBody(const std::string &body, const std::string &more = "") {
    return specOf("\"x\": \"f32[b, i]\", \"a\": \"f32[m, n]\"", body, "\"z\": \"f32\"", more);
  }

  /// The program that a body means, as text without locations.
  std::string program(const std::string &body, const std::string &more = "",
                      const Overrides &overrides = {}) {
    std::optional<Spec> spec = parse(withBody(body, more), overrides);
    EXPECT_TRUE(spec) << body << "\n" << rendered();
    std::string text;
    llvm::raw_string_ostream os(text);
    if (spec)
      spec->module->print(os);
    return text;
  }

  /// Expects that both bodies mean the same.
  void expectSame(const std::string &body, const std::string &unrolled,
                  const std::string &more = "") {
    std::string expected = program(unrolled, more);
    EXPECT_EQ(program(body, more), expected);
    EXPECT_NE(expected.find("attn.output \"z\""), std::string::npos);
  }

  void expectError(const std::string &marked, std::vector<std::string> pieces,
                   const std::string &more = "") {
    std::string text = withBody(marked, more);
    size_t place = text.find("@@");
    ASSERT_NE(place, std::string::npos);
    text.erase(place, 2);
    EXPECT_FALSE(parse(text)) << text;
    EXPECT_EQ(diagnostics.errorCount(), 1u) << text << "\n" << rendered();
    llvm::StringRef before = llvm::StringRef(text).take_front(place);
    EXPECT_EQ(diagnostics.all()[0].line, before.count('\n') + 1) << text << "\n" << rendered();
    EXPECT_EQ(diagnostics.all()[0].column, place - before.rfind('\n')) << text << "\n"
                                                                       << rendered();
    EXPECT_FALSE(diagnostics.all()[0].remedy.empty()) << rendered();
    for (const std::string &piece : pieces)
      EXPECT_NE(rendered().find(piece), std::string::npos) << piece << "\nnot in\n" << rendered();
  }
};

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

TEST_F(Repeat, isItsBodyOnceForEveryIteration) {
  expectSame(R"j("z = x", {"repeat": 3, "carry": ["z"], "body": ["z = tanh(z) + x"]})j",
             R"j("z = x", "z = tanh(z) + x", "z = tanh(z) + x", "z = tanh(z) + x")j");
}

TEST_F(Repeat, oneIterationIsItsBody) {
  expectSame(R"j("z = x", {"repeat": 1, "carry": ["z"], "body": ["z = exp(z)"]})j",
             R"j("z = x", "z = exp(z)")j");
}

TEST_F(Repeat, withoutIterationsLeavesTheValues) {
  expectSame(R"j("z = exp(x)", {"repeat": 0, "carry": ["z"], "body": ["z = tanh(z)"]})j",
             R"j("z = exp(x)")j");
}

TEST_F(Repeat, withoutIterationsIsStillChecked) {
  expectError(R"j("z = x", {"repeat": 0, "carry": ["z"], "body": ["z = @@y"]})j",
              {"unknown name 'y'"});
}

TEST_F(Repeat, handsOnSeveralValues) {
  expectSame(R"j("u = x", "z = x", {"repeat": 2, "carry": ["u", "z"], "body": [
               "w = u + z", "u = z", "z = w"]})j",
             R"j("u = x", "z = x", "w = u + z", "u = z", "z = w", "v = u + z", "u = z", "z = v")j");
}

TEST_F(Repeat, whatIsNotCarriedIsLocal) {
  expectSame(R"j("w = 2 * x", "z = x", {"repeat": 2, "carry": ["z"], "body": [
               "w = w + 1", "z = z * w"]}, "z = z - w")j",
             R"j("w = 2 * x", "z = x", "y = w + 1", "z = z * y", "v = w + 1", "z = z * v",
                "z = z - w")j");
}

TEST_F(Repeat, nests) {
  expectSame(R"j("z = x", {"repeat": 2, "carry": ["z"], "body": [
               "u = z / 2",
               {"repeat": 2, "carry": ["u"], "body": ["u = u * u"]},
               "z = z + u"]})j",
             R"j("z = x", "u = z / 2", "u = u * u", "u = u * u", "z = z + u",
                "v = z / 2", "v = v * v", "v = v * v", "z = z + v")j");
}

TEST_F(Repeat, aValueCarriedByTheInnerIsLocalToTheOuter) {
  expectSame(R"j("u = exp(x)", "z = x", {"repeat": 2, "carry": ["z"], "body": [
               {"repeat": 1, "carry": ["u"], "body": ["u = u * u"]},
               "z = z + u"]}, "z = z - u")j",
             R"j("u = exp(x)", "z = x", "v = u * u", "z = z + v", "w = u * u", "z = z + w",
                "z = z - u")j");
}

TEST_F(Repeat, carriesLabels) {
  expectSame(R"j("z[m,n] = a[m,n]", {"repeat": 2, "carry": ["z"], "body": [
               "z[m,n] = sum(t, z[m,t] * a[t,n])"]})j",
             R"j("z[m,n] = a[m,n]", "z[m,n] = sum(t, z[m,t] * a[t,n])",
                "z[m,n] = sum(t, z[m,t] * a[t,n])")j",
             R"j("dims": {"m": 8, "n": 8, "t": 8})j");
}

TEST_F(Repeat, foldsConstants) {
  expectSame(R"j("n2 = 1", "z = x", {"repeat": 5, "carry": ["n2"], "body": ["n2 = n2 * 2"]},
               "z = x * n2")j",
             R"j("z = x * 32")j");
}

TEST_F(Repeat, countsWithLetsAndStaticExtents) {
  std::string more = R"j("let": {"n_steps": 2}, "dims": {"m": 8, "n": 4})j";
  std::string body = R"j("z = x", {"repeat": "n_steps * size(m) // 8", "carry": ["z"],
                        "body": ["z = tanh(z)"]})j";
  expectSame(body, R"j("z = x", "z = tanh(z)", "z = tanh(z)")j", more);
  Overrides overrides;
  overrides.values["n_steps"] = "1";
  EXPECT_EQ(program(body, more, overrides),
            program(R"j("z = x", "z = tanh(z)")j", more, overrides));
}

TEST_F(Repeat, valuesPointAtTheirStatementInTheBody) {
  std::optional<Spec> spec =
      parse(withBody("\"z = x\",\n{\"repeat\": 2, \"carry\": [\"z\"], \"body\": [\n"
                     "\"z = tanh(z)\"]}"));
  ASSERT_TRUE(spec) << rendered();
  std::vector<attn::MapOp> maps = opsOf<attn::MapOp>(*spec);
  ASSERT_EQ(maps.size(), 2u);
  for (attn::MapOp map : maps) {
    std::string text;
    llvm::raw_string_ostream os(text);
    map.getLoc().print(os);
    EXPECT_NE(text.find("t.json\":3:"), std::string::npos) << text;
  }
}

TEST_F(Repeat, warnsOnce) {
  ASSERT_TRUE(parse(withBody(R"j("z = x", {"repeat": 3, "carry": ["z"], "body": [
                            "z = z + sum(m, x)"]})j")))
      << rendered();
  unsigned warnings = llvm::count_if(diagnostics.all(), [](const Diagnostic &d) {
    return d.message.find("does not have the dim 'm'") != std::string::npos;
  });
  EXPECT_EQ(warnings, 1u) << rendered();
}

TEST_F(Repeat, makesUpToTenThousandStatements) {
  std::string more = R"j("let": {"count": 5000})j";
  std::string body =
      R"j("z = 0", {"repeat": "count", "carry": ["z"], "body": ["y = z + 1", "z = y"]},
                        "z = z + x")j";
  EXPECT_EQ(program(body, more), program(R"j("z = 5000 + x")j", more));
  expectError(R"j("z = x", @@{"repeat": 5001, "carry": ["z"], "body": ["y = z", "z = y"]})j",
              {"more than 10000 statements", "5001 times 2"});
  expectError(R"j("z = x", {"repeat": 100, "carry": ["z"], "body": [
                @@{"repeat": 100, "carry": ["z"], "body": ["z = 2*z"]}]})j",
              {"more than 10000 statements", "100 times 1, in every iteration around it"});
  expectError(
      R"j("z = x", @@{"repeat": 9223372036854775807, "carry": ["z"], "body": ["z = 2*z"]})j",
      {"more than 10000 statements"});
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

TEST_F(Repeat, misspeltKeys) {
  expectError(R"j("z = x", {@@"repeats": 3, "carry": ["z"], "body": ["z = exp(z)"]})j",
              {"unknown key 'repeats' of a repeat", "did you mean 'repeat'?"});
  expectError(R"j("z = x", {"repeat": 3, @@"carries": ["z"], "body": ["z = exp(z)"]})j",
              {"unknown key 'carries'", "did you mean 'carry'?"});
  expectError(R"j("z = x", {"repeat": 3, "carry": ["z"], @@"until": 1, "body": ["z = exp(z)"]})j",
              {"unknown key 'until'", "the keys are repeat, carry, body"});
}

TEST_F(Repeat, missingKeys) {
  expectError(R"j("z = x", @@{"carry": ["z"], "body": ["z = exp(z)"]})j", {"has no 'repeat'"});
  expectError(R"j("z = x", @@{"repeat": 2, "body": ["z = exp(z)"]})j",
              {"has no 'carry'", "\"carry\": [\"z\"]"});
  expectError(R"j("z = x", @@{"repeat": 2, "carry": ["z"]})j", {"has no 'body'"});
  expectError(R"j("z = x", {"repeat": 2, "carry": ["z"], "body": @@[]})j",
              {"the body of the repeat is empty"});
}

TEST_F(Repeat, otherObjects) {
  expectError(R"j(@@{"z": "x"})j", {"a string or a repeat", "{\"repeat\": 6, \"carry\": [\"z\"]"});
}

TEST_F(Repeat, kindsOfItsValues) {
  expectError(R"j("z = x", {"repeat": 2, "carry": @@"z", "body": ["z = exp(z)"]})j",
              {"'carry' is a list", "for example \"carry\": [\"z\"]"});
  expectError(R"j("z = x", {"repeat": 2, "carry": ["z"], "body": @@"z = exp(z)"})j",
              {"the body of a repeat is a list"});
  expectError(R"j("z = x", {"repeat": 2, "carry": [@@1], "body": ["z = exp(z)"]})j",
              {"a carried name is a string"});
  expectError(R"j("z = x", {"repeat": @@2.5, "carry": ["z"], "body": ["z = exp(z)"]})j",
              {"the number of iterations is"});
}

TEST_F(Repeat, countsThatAreNotKnown) {
  expectError(R"j("z = x", {"repeat": "@@size(i)", "carry": ["z"], "body": ["z = exp(z)"]})j",
              {"not known when the spec is compiled", "in `dims`"});
  expectError(R"j("z = x", {"repeat": @@-1, "carry": ["z"], "body": ["z = exp(z)"]})j",
              {"a repeat of -1 iterations", "0 or more"});
  expectError(R"j("z = x", {"repeat": "2 @@- 3", "carry": ["z"], "body": ["z = exp(z)"]})j",
              {"a repeat of -1 iterations"});
  expectError(R"j("z = x", {"repeat": "5 @@/ 2", "carry": ["z"], "body": ["z = exp(z)"]})j",
              {"is an integer, this is a real number", "//"});
  expectError(R"j("z = x", {"repeat": "@@steps", "carry": ["z"], "body": ["z = exp(z)"]})j",
              {"unknown name 'steps'"});
}

TEST_F(Repeat, carriedNamesWithoutValue) {
  expectError(R"j("zed = x", {"repeat": 2, "carry": [@@"zeb"], "body": ["zeb = 2"]}, "z = zed")j",
              {"'zeb' has no value before the repeat", "did you mean 'zed'?"});
  expectError(R"j("z = x", {"repeat": 2, "carry": ["z", @@"yy"], "body": ["yy = 2", "z = z"]})j",
              {"assign its first value before: \"yy = ...\""});
  expectError(R"j("z = x", {"repeat": 2, "carry": [@@"x"], "body": ["z = x"]})j",
              {"'x' cannot be carried"});
  expectError(R"j("z = x", {"repeat": 2, "carry": ["z", @@"z"], "body": ["z = x"]})j",
              {"carried twice"});
  expectError(R"j("z = x", {"repeat": 2, "carry": @@[], "body": ["z = x"]})j", {"carries nothing"});
}

TEST_F(Repeat, carriedValuesThatChange) {
  expectError(R"j("y = 1", "z = x", {"repeat": 2, "carry": ["z", @@"y"], "body": ["z = z + y"]})j",
              {"'y' is not assigned in the body"});
  expectError(R"j("z = x", {"repeat": 2, "carry": [@@"z"], "body": ["z = z * a"]})j",
              {"'z' has the dims [b, i, m, n] after an iteration and [b, i] before it"});
  expectError(
      R"j("z = 0", {"repeat": 2, "carry": [@@"z"], "body": ["z = z + 0.5"]})j",
      {"'z' is a real number after an iteration and an integer before it", "0.0 instead of 0"});
  std::string square = R"j("dims": {"m": 8, "n": 8})j";
  expectError(R"j("z[m,n] = a[m,n]", {"repeat": 2, "carry": [@@"z"], "body": [
                "z[n,m] = z[m,n] + 1"]})j",
              {"labelled with [n, m] after an iteration and [m, n] before it"}, square);
  expectError(R"j("z[m,n] = a[m,n]", {"repeat": 2, "carry": [@@"z"], "body": ["z = z + 1"]})j",
              {"labelled with nothing after an iteration and [m, n] before it"}, square);
}

TEST_F(Repeat, errorsOfTheBodyAreReportedOnce) {
  expectError(R"j("z = x", {"repeat": 3, "carry": ["z"], "body": ["z = z +@@"]})j",
              {"expected an expression"});
  expectError(R"j("z = x", {"repeat": 3, "carry": ["z"], "body": ["y = @@z and x", "z = z + y"]})j",
              {"`and` takes conditions"});
}

TEST_F(Repeat, localNamesOutside) {
  expectError(R"j("z = x", {"repeat": 2, "carry": ["z"], "body": ["y = z + 1", "z = y"]},
                "z = z + @@y")j",
              {"'y' has a value only inside the repeat"});
}

TEST_F(Repeat, depth) {
  auto nested = [](unsigned depth) {
    std::string body = "\"z = exp(z)\"";
    for (unsigned i = 0; i < depth; ++i)
      body = std::string(i == 0 ? "@@" : "") + "{\"repeat\": 1, \"carry\": [\"z\"], \"body\": [" +
             body + "]}";
    return "\"z = x\", " + body;
  };
  std::string deepest = nested(16);
  deepest.erase(deepest.find("@@"), 2);
  expectSame(deepest, R"j("z = x", "z = exp(z)")j");
  expectError(nested(17), {"repeats are nested more than 16 deep", "join loops"});
}

} // namespace
} // namespace attnc
