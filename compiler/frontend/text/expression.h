// Index notation: expressions, statements, array types and params, as syntax trees.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_EXPRESSION_H
#define ATTNC_COMPILER_FRONTEND_TEXT_EXPRESSION_H

#include "compiler/frontend/text/lexer.h"
#include <memory>

namespace attnc {

enum class Operator { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, Lt, Le, Gt, Ge, Eq, Ne, And, Or };

/// The spelling of an operator.
llvm::StringRef spelling(Operator op);

/// A node of an expression. Places are byte offsets of the text.
struct SyntaxExpr {
  enum Kind { Integer, Real, Name, Negate, Not, Binary, Call, Subscript, Tuple };
  Kind kind = Integer;
  Operator op = Operator::Add;
  /// The extent of the node's text, and what a caret points to (the operator of a Binary).
  uint32_t begin = 0, end = 0, place = 0;
  unsigned depth = 1;
  int64_t integer = 0;
  double real = 0;
  /// A Name, the function of a Call, the array of a Subscript.
  std::string name;
  /// Operands, arguments, subscripts, or the elements of a Tuple.
  std::vector<std::unique_ptr<SyntaxExpr>> args;
  /// The `else` value of a Subscript, or null.
  std::unique_ptr<SyntaxExpr> otherwise;
};
using ExprPtr = std::unique_ptr<SyntaxExpr>;

/// Trees deeper than this are refused.
constexpr unsigned maxExpressionDepth = 200;

/// A name with its place in the text.
struct PlacedName {
  std::string name;
  uint32_t place = 0;
};

/// `name = value` or `name[dims] = value`.
struct Statement {
  PlacedName target;
  bool labelled = false;
  std::vector<PlacedName> label;
  ExprPtr value;
};

/// `T[b, h, i, d]`.
struct ArrayTypeSyntax {
  PlacedName type;
  std::vector<PlacedName> dims;
};

/// `f32 > 0 <= 1 = 1/sqrt(size(d))`.
struct ParamSyntax {
  struct Bound {
    Operator op = Operator::Lt;
    ExprPtr value;
  };
  PlacedName type;
  std::vector<Bound> bounds;
  ExprPtr value; // the default, or null
};

/// Each parses the whole text. On an error, one finding is added and nothing is returned.
ExprPtr parseExpression(const SourceText &text, Diagnostics &diagnostics);
std::optional<Statement> parseStatement(const SourceText &text, Diagnostics &diagnostics);
std::optional<ArrayTypeSyntax> parseArrayType(const SourceText &text, Diagnostics &diagnostics);
std::optional<ParamSyntax> parseParam(const SourceText &text, Diagnostics &diagnostics);

/// True for the words of the notation, which cannot be names: and, or, not, else, inf, pi.
bool isReservedWord(llvm::StringRef word);

} // namespace attnc

#endif
