// Precedence and places of index notation.
#include "compiler/frontend/text/expression.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

/// The tree, fully parenthesised.
std::string spell(const SyntaxExpr &e) {
  std::string list;
  for (const ExprPtr &arg : e.args)
    list += (list.empty() ? "" : ", ") + spell(*arg);
  switch (e.kind) {
  case SyntaxExpr::Integer:
    return std::to_string(e.integer);
  case SyntaxExpr::Real:
    return "real";
  case SyntaxExpr::Name:
    return e.name;
  case SyntaxExpr::Negate:
    return "(-" + list + ")";
  case SyntaxExpr::Not:
    return "(not " + list + ")";
  case SyntaxExpr::Binary:
    return "(" + spell(*e.args[0]) + " " + spelling(e.op).str() + " " + spell(*e.args[1]) + ")";
  case SyntaxExpr::Call:
    return e.name + "(" + list + ")";
  case SyntaxExpr::Subscript:
    return e.name + "[" + list + "]" + (e.otherwise ? " else " + spell(*e.otherwise) : "");
  case SyntaxExpr::Tuple:
    return "(" + list + ")";
  }
  return "";
}

std::string tree(const std::string &text) {
  Diagnostics diagnostics;
  ExprPtr e = parseExpression(SourceText("test", text), diagnostics);
  return e ? spell(*e) : "error: " + diagnostics.all()[0].message;
}

TEST(Expression, BindsAsInPython) {
  EXPECT_EQ(tree("a + b * c"), "(a + (b * c))");
  EXPECT_EQ(tree("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(tree("a / b // c % d"), "(((a / b) // c) % d)");
  EXPECT_EQ(tree("-a ** 2"), "(-(a ** 2))");
  EXPECT_EQ(tree("a ** -b ** c"), "(a ** (-(b ** c)))");
  EXPECT_EQ(tree("-a * b"), "((-a) * b)");
  EXPECT_EQ(tree("not a < b and c or d"), "(((not (a < b)) and c) or d)");
  EXPECT_EQ(tree("a < b + 1"), "(a < (b + 1))");
  EXPECT_EQ(tree("a or b and not c"), "(a or (b and (not c)))");
  EXPECT_EQ(tree("(a + b) * +c"), "((a + b) * c)");
}

TEST(Expression, CallsReadsAndTuples) {
  EXPECT_EQ(tree("sum((j, t), x[b, i + 1] * 2)"), "sum((j, t), (x[b, (i + 1)] * 2))");
  EXPECT_EQ(tree("k[i - 1] else -inf + 2"), "(k[(i - 1)] else (-inf) + 2)");
  EXPECT_EQ(tree("f()[0]").substr(0, 6), "error:");
  EXPECT_EQ(tree("x[]"), "x[]");
}

TEST(Expression, Numbers) {
  Diagnostics diagnostics;
  for (auto [text, value] : {std::pair("2.5", 2.5), {"1e-3", 1e-3}, {".5", 0.5}, {"3.", 3.0}}) {
    ExprPtr e = parseExpression(SourceText("test", text), diagnostics);
    ASSERT_TRUE(e) << text;
    EXPECT_EQ(e->kind, SyntaxExpr::Real);
    EXPECT_EQ(e->real, value);
  }
}

TEST(Expression, PlacesOfNodes) {
  Diagnostics diagnostics;
  std::string text = "  (a + bb) * sum(j, c)";
  ExprPtr e = parseExpression(SourceText("test", text), diagnostics);
  ASSERT_TRUE(e);
  EXPECT_EQ(text[e->place], '*');
  const SyntaxExpr &sum = *e->args[1];
  EXPECT_EQ(text.substr(sum.begin, sum.end - sum.begin), "sum(j, c)");
  const SyntaxExpr &plus = *e->args[0];
  EXPECT_EQ(text.substr(plus.begin, plus.end - plus.begin), "(a + bb)");
}

TEST(Expression, Statements) {
  Diagnostics diagnostics;
  auto s = parseStatement(SourceText("test", "o[b, i] = x"), diagnostics);
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->labelled);
  EXPECT_EQ(s->label[1].name, "i");
  EXPECT_EQ(s->label[1].place, 5u);
  s = parseStatement(SourceText("test", "o = x"), diagnostics);
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->labelled);
  EXPECT_FALSE(parseStatement(SourceText("test", "and = x"), diagnostics));
}

TEST(Expression, IdentifiersOfAnyScript) {
  EXPECT_TRUE(isIdentifier("q_1"));
  EXPECT_TRUE(isIdentifier("\xCE\xB1"));      // alpha
  EXPECT_FALSE(isIdentifier("\xE2\x88\x92")); // minus sign
  EXPECT_FALSE(isIdentifier("1q"));
  EXPECT_FALSE(isIdentifier(""));
  EXPECT_FALSE(isIdentifier("\xFF"));
  EXPECT_FALSE(isIdentifier(std::string(maxNameLength + 1, 'a')));
}

} // namespace
} // namespace attnc
