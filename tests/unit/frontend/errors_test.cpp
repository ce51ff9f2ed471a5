// Every mistake gives one error at its place. In the texts, @@ marks where that is.
#include "spec_fixture.h"
#include "llvm/ADT/StringExtras.h"

namespace attnc {
namespace {

class Errors : public SpecFixture {
protected:
  /// Parses a marked text; expects exactly one error at each mark, in any order, and these pieces
  /// in what is printed.
  void expectErrors(const std::string &marked, std::vector<std::string> pieces,
                    const Overrides &overrides = {}) {
    std::vector<std::pair<unsigned, unsigned>> places;
    std::string text;
    unsigned line = 1, column = 1;
    for (size_t i = 0; i < marked.size(); ++i) {
      if (marked.compare(i, 2, "@@") == 0) {
        places.push_back({line, column});
        ++i;
        continue;
      }
      text += marked[i];
      column += (marked[i] & 0xC0) != 0x80;
      if (marked[i] == '\n') {
        ++line;
        column = 1;
      }
    }
    EXPECT_FALSE(parse(text, overrides)) << text;
    std::vector<std::pair<unsigned, unsigned>> found;
    for (const Diagnostic &d : diagnostics.all())
      if (d.severity == Diagnostic::Error)
        found.push_back({d.line, d.column});
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, places) << text << "\n" << rendered();
    for (const std::string &piece : pieces)
      EXPECT_NE(rendered().find(piece), std::string::npos) << piece << "\nnot in\n" << rendered();
  }

  /// The same for one expression over x[b, i], y[b, j], m[i], n[i].
  void expectExpression(const std::string &marked, std::vector<std::string> pieces,
                        const std::string &more = "") {
    expectErrors(specOfExpression(marked, "f32", more), std::move(pieces));
  }
};

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

TEST_F(Errors, MalformedJson) {
  expectErrors("{ \"attnc\": 1,\n  \"name\" @@\"a\" }", {"no `:` between the key and its value"});
  expectErrors("@@", {"the file is empty"});
}

TEST_F(Errors, InvalidUtf8InAString) {
  EXPECT_FALSE(parse("{\"attnc\": 1, \"doc\": \"\xC3\x28\"}"));
  EXPECT_NE(rendered().find("UTF-8"), std::string::npos) << rendered();
}

TEST_F(Errors, ZeroBytes) {
  using namespace std::string_literals;
  expectErrors("{\"attnc\": 1, @@\0\"inputs\": {}}"s, {"zero byte", "a spec is text in UTF-8"});
}

TEST_F(Errors, NotAnObject) { expectErrors("\n @@[1]", {"a spec is a JSON object", "a list"}); }

TEST_F(Errors, DuplicateKeys) {
  expectErrors("{\"attnc\": 1, @@\"attnc\": 1}", {"'attnc' occurs twice"});
}

TEST_F(Errors, DeeplyNestedJson) {
  EXPECT_FALSE(parse(std::string(100000, '[')));
  EXPECT_EQ(diagnostics.errorCount(), 1u);
  EXPECT_NE(rendered().find("nested deeper than 64"), std::string::npos) << rendered();
}

TEST_F(Errors, HugeFileIsRefusedUnread) {
  std::string huge(100u << 20, ' ');
  EXPECT_FALSE(parse(huge));
  EXPECT_NE(rendered().find("t.json:1:1: error: the file has 104857600 bytes"), std::string::npos);
}

TEST_F(Errors, UnknownKeysAreSuggested) {
  expectErrors(R"({"attnc": 1, @@"input": {}, "inputs": {"x": "f32[i]"}, "body": ["o = x"],
                   "outputs": {"o": "f32"}})",
               {"unknown key 'input'", "did you mean 'inputs'?"});
}

TEST_F(Errors, MissingSections) {
  EXPECT_FALSE(parse("{}"));
  for (std::string key : {"attnc", "inputs", "body", "outputs"})
    EXPECT_NE(rendered().find("the spec has no '" + key + "'"), std::string::npos) << rendered();
  EXPECT_EQ(diagnostics.errorCount(), 4u);
}

TEST_F(Errors, WrongKindsOfValues) {
  expectErrors("{\"attnc\": @@\"1\",\n \"dims\": @@[],\n \"inputs\": {\"x\": @@3},\n"
               " \"body\": [@@null],\n \"outputs\": {\"o\": @@[]}}",
               {"'attnc' is an integer, this is a string", "'dims' is an object, this is a list",
                "a statement is a string, this is null"});
}

TEST_F(Errors, Version) {
  expectErrors(R"({"attnc": @@2, "inputs": {}, "body": ["o = 1"], "outputs": {"o": "i64"}})",
               {"version 1"});
}

TEST_F(Errors, Name) {
  expectErrors(specOf("\"x\": \"f32[i]\"", "\"o = x\"", "\"o\": \"f32\"", "\"name\": @@\"a b\""),
               {"one word"});
}

//===----------------------------------------------------------------------===//
// Names, types, dims
//===----------------------------------------------------------------------===//

TEST_F(Errors, UnknownNamesAreSuggestedOnce) {
  expectErrors(specOf("\"x\": \"f32[i]\"", "\"o = x * @@sclae\", \"u = sclae + 1\"",
                      "\"o\": \"f32\"", "\"params\": {\"scale\": \"f32\"}"),
               {"unknown name 'sclae'", "did you mean 'scale'?"});
}

TEST_F(Errors, UnknownFunctionsAreSuggested) {
  expectExpression("@@sofmax(i, x)", {"unknown function 'sofmax'", "did you mean 'softmax'?"});
}

TEST_F(Errors, UnboundDims) {
  expectExpression("sum(@@t, x)", {"the dim 't' has no extent", "stands in `dims`"});
  expectExpression("x + size(@@x)", {"'x' is not a dim"});
}

TEST_F(Errors, UnknownTypes) {
  expectErrors(specOf("\"x\": \"@@bf61[i]\"", "\"o = x\"", "\"o\": \"@@float\""),
               {"unknown type 'bf61'", "did you mean 'bf16'?", "unknown type 'float'"});
}

TEST_F(Errors, MalformedInputs) {
  expectErrors(specOf("\"x\": \"f32@@\", \"y\": \"f32[i, @@i]\", \"z\": \"f32[i@@\"",
                      "\"o = x + y\"", "\"o\": \"f32\""),
               {"a scalar tensor `f32[]`", "the dim 'i' occurs twice", "expected `,` or `]`"});
}

TEST_F(Errors, ClashesOfNames) {
  expectErrors(specOf("\"x\": \"f32[i]\", @@\"i\": \"f32[i]\", @@\"sum\": \"f32[i]\"", "\"o = x\"",
                      "\"o\": \"f32\"", "\"let\": {@@\"x\": 3}, \"params\": {@@\"i\": \"f32\"}"),
               {"'i' is already taken", "'sum' is the name of a function", "'x' is already taken"});
}

TEST_F(Errors, ExtentsOutOfRange) {
  for (std::string extent : {"0", "-4", "2147483648", "99999999999999999999", "1.5", "true"})
    expectErrors(specOf("\"x\": \"f32[d]\"", "\"o = x\"", "\"o\": \"f32\"",
                        "\"dims\": {\"d\": @@" + extent + "}"),
                 {"the extent of a dim is"});
}

TEST_F(Errors, ArraysTooLargeForOffsets) {
  expectErrors(specOf("\"x\": \"@@f32[c, d]\"", "\"o = x\"", "\"o\": \"f32\"",
                      "\"dims\": {\"c\": 1073741824, \"d\": 1073741824}"),
               {"more than 2^40 elements"});
}

TEST_F(Errors, TooManyDims) {
  std::string dims;
  for (int i = 0; i < 65; ++i)
    dims += (i ? ", \"d" : "\"d") + std::to_string(i) + "\": 2";
  EXPECT_FALSE(parse(
      specOf("\"x\": \"f32[d0]\"", "\"o = x\"", "\"o\": \"f32\"", "\"dims\": {" + dims + "}")));
  EXPECT_NE(rendered().find("the spec has 65 dims"), std::string::npos) << rendered();
}

TEST_F(Errors, Overrides) {
  std::string text = specOf("\"x\": \"T[d]\"", "\"o = x\"", "\"o\": \"T\"",
                            "\"types\": {\"T\": \"f32\"}, \"dims\": {\"dd\": 4}");
  Overrides overrides;
  overrides.values = {{"T", "float"}, {"dd", "many"}, {"ddd", "3"}, {"d", "0"}};
  EXPECT_FALSE(parse(text, overrides));
  EXPECT_EQ(diagnostics.errorCount(), 4u) << rendered();
  for (std::string piece :
       {"--set T=float: error: unknown type", "--set dd=many: error: the extent",
        "no type, dim or integer let 'ddd'", "did you mean 'dd'?",
        "--set d=0: error: the extent of a dim is between 1"})
    EXPECT_NE(rendered().find(piece), std::string::npos) << piece << "\n" << rendered();
}

//===----------------------------------------------------------------------===//
// let, params, require
//===----------------------------------------------------------------------===//

TEST_F(Errors, CyclicLets) {
  expectExpression("x", {"the let 'a' depends on itself: a -> c -> a"},
                   "\"let\": {@@\"a\": \"c + 1\", \"c\": \"a * 2\"}");
}

TEST_F(Errors, LongChainsOfLets) {
  std::string lets = "\"a0\": \"size(i)\"";
  for (int i = 1; i < 2000; ++i)
    lets += ", \"a" + std::to_string(i) + "\": \"a" + std::to_string(i - 1) + " + 1\"";
  EXPECT_TRUE(parse(specOfExpression("x", "f32", "\"let\": {" + lets + "}"))) << rendered();
  std::string backwards = "\"a0\": \"size(i)\"";
  for (int i = 1; i < 2000; ++i)
    backwards =
        "\"a" + std::to_string(i) + "\": \"a" + std::to_string(i - 1) + " + 1\", " + backwards;
  EXPECT_FALSE(parse(specOfExpression("x", "f32", "\"let\": {" + backwards + "}")));
  EXPECT_NE(rendered().find("nested too deep"), std::string::npos) << rendered();
}

TEST_F(Errors, Lets) {
  expectExpression("x", {"a let is an integer, this is a real number"},
                   "\"let\": {\"a\": \"size(i) @@/ 2\"}");
  expectExpression("x", {"'i' has no value here", "size(i)"}, "\"let\": {\"a\": \"@@i + 2\"}");
  expectExpression("x", {"division by zero"}, "\"let\": {\"a\": \"size(i) @@% 0\"}");
  expectExpression("x", {"out of range"}, "\"let\": {\"a\": \"9223372036854775807 @@+ 1\"}");
  expectExpression("x", {"reductions belong into the body"}, "\"let\": {\"a\": \"@@sum(i, 1)\"}");
}

TEST_F(Errors, Params) {
  auto param = [&](const std::string &marked, std::vector<std::string> pieces) {
    expectExpression("x * c", std::move(pieces), "\"params\": {\"c\": \"" + marked + "\"}");
  };
  param("@@bf16", {"a param is f32 or i64"});
  param("f32 > 1 = @@0.5", {"outside the param's range"});
  param("f32 = 1@@/0", {"the default is not a finite number"});
  param("i64 = @@0.5", {"the default is a real number, the param is an integer"});
  param("f32 > @@1 < 0", {"no number is in this range"});
  param("f32 > @@size(i)", {"a constant number"});
  param("f32 @@x", {"expected the end", "with its default"});
}

TEST_F(Errors, ParamsThatTheirTypeCannotHold) {
  auto text = [](const std::string &param) {
    return specOfExpression("x * c", "f32", "\"params\": {\"c\": \"" + param + "\"}");
  };
  auto refused = [&](const std::string &marked, std::vector<std::string> pieces) {
    expectErrors(text(marked), std::move(pieces));
  };
  refused("f32 > 0 = @@1e99",
          {"the default is beyond the numbers of f32", "at most 3.40282347e+38"});
  refused("f32 = 1e99 @@/ size(b)", {"a number in the default is beyond the numbers of f32"});
  refused("f32 > 0 = @@1e-50", {"the default, 0 in f32, is outside the param's range"});
  refused("f32 < @@1e-50 > 0 = 1e-60", {"no number is in this range"});
  refused("f32 > @@0 < 1e-60", {"no number is in this range"});
  refused("f32 > @@1e40", {"no number is in this range"});
  refused("f32 < 1 = @@0.9999999999", {"the default, 1 in f32, is outside the param's range"});
  refused("i64 = @@1099511627777", {"integers that a param may be", "from -2^40 to 2^40"});
  refused("i64 > @@0.5 < 0.75", {"no number is in this range"});
  refused("i64 > @@1099511627776", {"no number is in this range"});
  // Bounds are those of f32: 0.1 is larger there than in float64, 0.7 smaller.
  for (const char *right :
       {"f32 <= 0.1 = 0.1", "f32 >= 0.7 = 0.7", "f32 < 1e-50 = 0", "f32 <= 1e99 = 3.4028235e38",
        "f32 > 0 = 1e-40", "i64 = -1099511627776", "i64 > 0.5 < 1.5 = 1"})
    EXPECT_TRUE(parse(text(right))) << right << "\n" << rendered();
}

TEST_F(Errors, Requires) {
  auto require = [&](const std::string &marked, std::vector<std::string> pieces) {
    expectExpression("x", std::move(pieces),
                     "\"dims\": {\"b\": 3}, \"require\": [\"" + marked + "\"]");
  };
  require("size(i) @@+ 1", {"a fact is a condition"});
  require("size(b) @@== 4", {"does not hold for the static extents"});
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

TEST_F(Errors, Syntax) {
  expectExpression("x +@@", {"expected an expression, found the end of the text"});
  expectExpression("(x @@", {"expected `)`"});
  expectExpression("x @@x", {"found 'x'", "write a product with `*`"});
  expectExpression("x @@= 2", {"compare with `==`"});
  expectExpression("x @@& m", {"write `and`"});
  expectExpression("1 < x @@< 2", {"comparisons are not chained", "a < b and b < c"});
}

TEST_F(Errors, TypographicSigns) {
  expectExpression("x @@\xE2\x88\x92 1", {"typographic minus"});
  expectExpression("x @@\xC3\x97 y", {"U+00D7", "write a product with `*`"});
  expectExpression("x @@\xE2\x89\xA4 y", {"write `<=`"});
}

TEST_F(Errors, ColumnsCountCharactersAndSeeThroughEscapes) {
  expectErrors(specOf("\"x\": \"f32[i]\"", "\"\\u006f = \\u0078 + @@y_\"", "\"o\": \"f32\"",
                      "\"doc\": \"\xC3\xA4\xE2\x82\xAC\""),
               {"unknown name 'y_'"});
}

TEST_F(Errors, Numbers) {
  expectExpression("x * @@99999999999999999999", {"out of range"});
  expectExpression("x * @@1e999", {"out of range"});
  expectExpression("x * @@2x", {"neither a number nor a name"});
  expectExpression("n + 4611686018427387904 * (4611686018427387904 @@* 4)", {"out of range"});
}

TEST_F(Errors, DeepExpressions) {
  for (std::string text :
       {std::string(5000, '(') + "x" + std::string(5000, ')'), std::string(5000, '-') + "x", [] {
          std::string sum = "x";
          for (int i = 0; i < 2000; ++i)
            sum += " + x";
          return sum;
        }()}) {
    EXPECT_FALSE(parse(specOfExpression(text)));
    EXPECT_EQ(diagnostics.errorCount(), 1u);
    bool isSum = text.find('+') != std::string::npos;
    EXPECT_NE(rendered().find(isSum ? "more than 200 operations in a row"
                                    : "nested deeper than 200 levels"),
              std::string::npos)
        << rendered();
  }
  EXPECT_FALSE(parse(specOfExpression("x" + std::string(20000, ' '))));
  EXPECT_NE(rendered().find("a statement of"), std::string::npos) << rendered();
}

TEST_F(Errors, ThousandsOfErrorsOnOneLineAreCounted) {
  std::string body;
  constexpr unsigned count = 20000;
  for (unsigned i = 0; i < count; ++i)
    body += (i ? ", \"u = zz" : "\"u = zz") + std::to_string(i) + "\"";
  EXPECT_FALSE(parse(specOf("\"x\": \"f32[i]\"", body, "\"u\": \"f32\"")));
  EXPECT_EQ(diagnostics.errorCount(), count);
  EXPECT_EQ(diagnostics.all().size(), Diagnostics::maxKept);
}

TEST_F(Errors, ConditionsAreNotNumbers) {
  expectExpression("x + (@@m)", {"`+` takes numbers, this is a condition"});
  expectExpression("where(@@m == m, x, 0)", {"`==` takes numbers"});
  expectExpression("where(@@x, x, 0)", {"where takes a condition here, this is a real number"});
  expectExpression("where(m and @@x, x, 0)", {"`and` takes conditions"});
  expectExpression("where(@@not x, x, 0)", {"`not` takes a condition"});
  expectExpression("where(m, @@m, x)", {"a condition and a number"});
  expectExpression("sum(i, @@m)", {"sum takes numbers", "where(condition, 1, 0)"});
  expectExpression("where(all(i, @@x), x, 0)", {"all takes a condition"});
}

TEST_F(Errors, Calls) {
  expectExpression("@@exp(x, x)", {"exp takes 1 argument, here are 2"});
  expectExpression("x * @@exp", {"'exp' is a function"});
  expectExpression("@@x(i)", {"'x' is not a function", "x[...]"});
  expectExpression("cast(x, @@f31)", {"unknown type 'f31'"});
  expectExpression("x + @@rand(1)", {"rand takes a seed and 1 to 4 indices, here is 1 argument"});
}

TEST_F(Errors, Reductions) {
  expectExpression("max(@@x, y)", {"maximum(a, b)"});
  expectExpression("sum((i, @@i), x)", {"reduced twice"});
  expectExpression("softmax(@@j, x)", {"the operand of softmax has no dim 'j'"});
  expectExpression("@@sum(i)", {"sum(j, x)"});
  expectExpression("@@(x, y)", {"a tuple stands only where"});
}

TEST_F(Errors, Reads) {
  expectExpression("x[b@@", {"expected `,` or `]`"});
  expectExpression("@@x[i]", {"'x' has 2 dims, here is 1 subscript", "x[b, i]"});
  expectExpression("x[b, @@1.5]", {"a subscript is an integer"});
  expectExpression("@@b[i]", {"'b' has no subscripts"});
  expectExpression("x[b, i - 1] else @@m", {"not a constant"});
}

TEST_F(Errors, SubscriptsThatAreNotProven) {
  expectExpression("x[b, @@i + 1]",
                   {"cannot show that the subscript `i + 1` stays inside 'i' of x",
                    "it may reach size(i) (its greatest value is size(i))", "add `else 0`"});
  expectExpression("x[b, @@i - 1]", {"it may be below 0 (its least value is -1)"});
  expectExpression("x[b, @@j]", {"to `require`: \"size(j) <= size(i)\""});
  expectExpression("x[b, @@7]", {"\"8 <= size(i)\""});
}

//===----------------------------------------------------------------------===//
// Statements and outputs
//===----------------------------------------------------------------------===//

TEST_F(Errors, EmptyBodyAndOutputs) {
  expectErrors(R"({"attnc": 1, "inputs": {}, "body": @@[], "outputs": @@{}})",
               {"the body is empty", "the spec has no output"});
}

TEST_F(Errors, Labels) {
  auto statement = [&](const std::string &marked, std::vector<std::string> pieces) {
    expectErrors(specOf("\"x\": \"f32[b, i]\"", "\"" + marked + "\"", "\"o\": \"f32\""),
                 std::move(pieces));
  };
  statement("@@o[b] = x", {"the label [b] does not name the dims of the value, [b, i]"});
  statement("@@o[b, i] = sum(i, x)", {"the label [b, i]", "[b]"});
  statement("o[b, @@b] = x", {"occurs twice"});
  statement("o[b, @@t] = x", {"the dim 't' has no extent"});
}

TEST_F(Errors, SubscriptsNeedALabel) {
  expectErrors(specOf("\"x\": \"f32[b, i]\"", "\"t = x\", \"o = @@t[b, i]\"", "\"o\": \"f32\""),
               {"has no label", "t[b, i] = ..."});
}

TEST_F(Errors, DeclaredNamesAreNotAssigned) {
  expectErrors(
      specOf("\"x\": \"f32[b, i]\"", "\"@@x = 2 * x\", \"@@exp = x\", \"o = x\"", "\"o\": \"f32\""),
      {"'x' cannot be assigned", "'exp' is the name of a function"});
}

TEST_F(Errors, Outputs) {
  expectErrors(specOf("\"x\": \"f32[i]\"", "\"out = x\"", "@@\"ouT\": \"f32\", @@\"x\": \"f32\""),
               {"never computes the output 'ouT'", "did you mean 'out'?"});
  expectErrors(specOf("\"x\": \"f32[i]\"", "\"o = i\"", "\"o\": @@\"f32\""),
               {"is an integer", "cast(o, f32)"});
}

TEST_F(Errors, GradAndReference) {
  expectErrors(specOf("\"x\": \"f32[i]\", \"ids\": \"i32[i]\"", "\"o = x + ids\"", "\"o\": \"f32\"",
                      "\"grad\": [\"x\", @@\"xx\", @@\"ids\"], \"reference\": {\"shape\": "
                      "{@@\"j\": 3, \"i\": @@0}}"),
               {"no input or param 'xx'", "does not hold real numbers", "no dim 'j'"});
  expectErrors(specOf("\"x\": \"f32[i]\"", "\"o = x * n\"", "\"o\": \"f32\"",
                      "\"params\": {\"n\": \"i64 = 1\"}, \"grad\": [\"x\", @@\"n\", @@\"x\", "
                      "@@\"o\"], \"save\": @@\"more\""),
               {"the param 'n' has no gradient", "'x' is asked for twice",
                "'o' is an output, not an input or param", "'more' is no way to save"});
  expectErrors(
      specOf("\"n\": \"i32[i]\"", "\"o = n * 0.5\"", "\"o\": \"f32\"", "\"grad\": [@@\"all\"]"),
      {"'all' stands for nothing: no input holds real numbers"});
  expectErrors(
      specOf("\"x\": \"f32[i]\"", "\"o = x\"", "\"o\": \"f32\"", "\"grad\": [\"all\", @@\"x\"]"),
      {"'x' is asked for twice"});
  expectErrors(specOf("\"x\": \"f32[i]\"", "\"o = x\"", "\"o\": \"f32\"",
                      "\"reference\": {\"shape\": @@{}}"),
               {"no extent of 'i'"});
}

TEST_F(Errors, ThreeMistakesAreThreeErrors) {
  expectErrors(R"json({
  "attnc": 1,
  "dims": { "d": @@-64 },
  "inputs": { "q": "f16[b, i, d]", "k": "f16[b, j, d]" },
  "body": [
    "s = sum(d, q[b,i,d] * @@kk[b,j,d])",
    "p = softmax(j, s)",
    "o = @@sum(j, p, s)"
  ],
  "outputs": { "o": "f16" }
})json",
               {"t.json:3:18: error:", "unknown name 'kk'", "did you mean 'k'?"});
}

} // namespace
} // namespace attnc
