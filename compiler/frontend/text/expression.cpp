#include "compiler/frontend/text/expression.h"
#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace attnc {

namespace {

/// How tightly an operator binds, as in Python: or, and, not, comparisons, + -, * / // %, unary
/// minus, **.
enum Power {
  None = 0,
  OrPower,
  AndPower,
  NotPower,
  ComparePower,
  SumPower,
  ProductPower,
  NegatePower,
  PowPower
};

struct OperatorRow {
  StringRef spelling;
  Operator op;
  Power power;
};

constexpr OperatorRow operators[] = {
    {"+", Operator::Add, SumPower},
    {"-", Operator::Sub, SumPower},
    {"*", Operator::Mul, ProductPower},
    {"/", Operator::Div, ProductPower},
    {"//", Operator::FloorDiv, ProductPower},
    {"%", Operator::Mod, ProductPower},
    {"**", Operator::Pow, PowPower},
    {"<", Operator::Lt, ComparePower},
    {"<=", Operator::Le, ComparePower},
    {">", Operator::Gt, ComparePower},
    {">=", Operator::Ge, ComparePower},
    {"==", Operator::Eq, ComparePower},
    {"!=", Operator::Ne, ComparePower},
    {"and", Operator::And, AndPower},
    {"or", Operator::Or, OrPower},
};

const OperatorRow *operatorOf(const Token &token) {
  if (token.kind != Token::Symbol && token.kind != Token::Name)
    return nullptr;
  auto *row = llvm::find_if(operators, [&](const auto &r) { return r.spelling == token.text; });
  return row == std::end(operators) ? nullptr : row;
}

bool isComparison(Operator op) { return op >= Operator::Lt && op <= Operator::Ne; }

/// An operator precedence (Pratt) parser over the tokens of one text. The first error is reported
/// and ends the parse.
class Parser {
public:
  Parser(const SourceText &source, std::vector<Token> tokens, Diagnostics &diagnostics)
      : source(source), tokens(std::move(tokens)), diagnostics(diagnostics) {}

  ExprPtr wholeExpression() {
    ExprPtr value = expression(OrPower);
    return value && atEnd() ? std::move(value) : nullptr;
  }

  std::optional<Statement> statement() {
    Statement s;
    if (!name(s.target, "the name of the result",
              "a statement is `name = expression` or `name[dims] = expression`"))
      return std::nullopt;
    if (current().is("[")) {
      s.labelled = true;
      if (!nameList(s.label))
        return std::nullopt;
    }
    if (!current().is("=")) {
      fail(current(), unexpected(current(), "`=`"), insteadOfAssignment(s.target.name));
      return std::nullopt;
    }
    advance();
    s.value = wholeExpression();
    return s.value ? std::optional(std::move(s)) : std::nullopt;
  }

  std::optional<ArrayTypeSyntax> arrayType() {
    ArrayTypeSyntax t;
    if (!name(t.type, "a type", "an input is written `T[b, h, i, d]`"))
      return std::nullopt;
    if (!current().is("[")) {
      fail(current(), unexpected(current(), "`[`"),
           "an input is written `T[b, h, i, d]`; a scalar tensor `f32[]`; a number that the caller "
           "passes belongs into `params`");
      return std::nullopt;
    }
    if (!nameList(t.dims))
      return std::nullopt;
    if (current().kind != Token::End) {
      fail(current(), unexpected(current(), "the end"),
           "an input is a type and its dims: `T[b, h, i, d]`");
      return std::nullopt;
    }
    return t;
  }

  std::optional<ParamSyntax> param() {
    ParamSyntax p;
    if (!name(p.type, "a type", "a param is written `f32`, or `f32 > 0 = 0.5`"))
      return std::nullopt;
    while (const OperatorRow *row = operatorOf(current())) {
      if (!isComparison(row->op) || row->op == Operator::Eq || row->op == Operator::Ne)
        break;
      advance();
      ParamSyntax::Bound bound;
      bound.op = row->op;
      bound.value = expression(SumPower);
      if (!bound.value)
        return std::nullopt;
      p.bounds.push_back(std::move(bound));
      if (current().is(","))
        advance();
    }
    if (current().is("=")) {
      advance();
      p.value = expression(OrPower);
      if (!p.value)
        return std::nullopt;
    }
    if (current().kind != Token::End) {
      fail(current(), unexpected(current(), "the end"),
           "a param is written `f32`, `f32 > 0`, or `f32 >= 0 <= 1 = 0.5` with its default");
      return std::nullopt;
    }
    return p;
  }

private:
  const Token &current() const { return tokens[at]; }
  Token advance() { return at + 1 < tokens.size() ? tokens[at++] : tokens[at]; }

  void fail(const Token &token, std::string message, std::string remedy = "") {
    diagnostics.add(source.at(token.begin, std::move(message), std::move(remedy)));
  }

  static std::string describe(const Token &token) {
    return token.kind == Token::End ? "the end of the text" : "'" + token.text.str() + "'";
  }
  static std::string unexpected(const Token &token, StringRef wanted) {
    return "expected " + wanted.str() + ", found " + describe(token);
  }

  bool atEnd() {
    if (current().kind == Token::End)
      return true;
    fail(current(), unexpected(current(), "an operator or the end"), afterOperand(""));
    return false;
  }

  const Token &next() const { return tokens[std::min(at + 1, tokens.size() - 1)]; }
  const Token &previous() const { return tokens[at ? at - 1 : 0]; }

  /// What is right where a statement has no `=` behind its name.
  std::string insteadOfAssignment(StringRef target) const {
    const OperatorRow *row = operatorOf(current());
    if (row && next().is("="))
      return "write `" + target.str() + " = " + target.str() + " " + row->spelling.str() + " ...`";
    if (current().is("=="))
      return "a result is assigned with `=`";
    if (current().is(","))
      return "a statement has one result: write one for each";
    if (target == "return")
      return "what the caller receives is named in `outputs`";
    return "a statement is `name = expression` or `name[dims] = expression`";
  }

  /// What is right where an operator, or `close`, should follow an operand.
  std::string afterOperand(StringRef close) const {
    const Token &token = current();
    if (token.is("=") && (next().is("<") || next().is(">")))
      return "write `" + next().text.str() + "=`";
    if (token.is("="))
      return close != ")" ? "compare with `==`"
             : llvm::is_contained({"dim", "axis", "keepdim", "keepdims"}, previous().text)
                 ? "arguments have no names, and a reduction takes its dims first: sum(d, x)"
                 : "compare with `==`; arguments have no names";
    if (token.isWord("else"))
      return "`else` follows the subscripts of a read: `k[b, i + 1] else 0`";
    if (token.isWord("if"))
      return "write where(condition, a, b)";
    if (token.isWord("for"))
      return "a sum over a dim is written sum(j, x)";
    if (token.isWord("in") || token.isWord("is"))
      return "compare with `==`";
    if (token.isWord("not"))
      return "write `a and not b`";
    if (token.is("["))
      return previous().is("]") ? "all subscripts stand in one pair of brackets: x[i, j]"
                                : "only names have subscripts: assign this to a labelled result, "
                                  "`t[i, j] = ...`, and read t[...]";
    if (token.is(")") || token.is("]"))
      return close.empty() ? "remove it, or open it before" : "close with `" + close.str() + "`";
    if (token.is(","))
      return "a statement has one value; the arguments of a function stand in parentheses";
    if (token.kind == Token::End)
      return "add `" + close.str() + "`";
    return "write a product with `*`" +
           (close.empty() ? "" : ", or close with `" + close.str() + "`");
  }

  /// What is right where an operand is missing.
  std::string insteadOfOperand() const {
    const Token &token = current();
    if (token.kind == Token::End)
      return at && operatorOf(previous()) ? "`" + previous().text.str() + "` needs a right side"
                                          : "write an expression: sum(j, p * v[b, j, e])";
    if ((token.is("*") || token.is("**")) && at && (previous().is("(") || previous().is(",")))
      return "arguments are written out: there are no `*args` and no `**kwargs`";
    if (token.is("=") && at && operatorOf(previous()))
      return "write the whole statement: `x = x " + previous().text.str() + " ...`";
    if (token.is("["))
      return "there are no lists: a tuple of dims is (j, t)";
    if (token.is(")") || token.is("]") || token.is(","))
      return "put a value before it, or remove it";
    if (token.isWord("else"))
      return "`else` follows the subscripts of a read: `k[b, i + 1] else 0`";
    return "`" + token.text.str() + "` stands between two operands";
  }

  /// `close` ends the list or the parenthesis that is being read.
  bool expect(StringRef symbol, StringRef close) {
    if (!current().is(symbol)) {
      std::string wanted = "`" + symbol.str() + "`";
      if (symbol != close)
        wanted += " or `" + close.str() + "`";
      fail(current(), unexpected(current(), wanted), afterOperand(close));
      return false;
    }
    advance();
    return true;
  }

  bool name(PlacedName &out, StringRef what, StringRef remedy) {
    if (current().kind != Token::Name || isReservedWord(current().text)) {
      bool reserved = current().kind == Token::Name;
      fail(current(), unexpected(current(), what),
           reserved ? "'" + current().text.str() + "' is a word of the language: choose another"
                    : remedy.str());
      return false;
    }
    Token token = advance();
    out = {token.text.str(), token.begin};
    return true;
  }

  static constexpr StringRef dimsOnly =
      "here stand names of dims: a number is an extent in `dims`, and a shift or a quotient is "
      "written where the value is read";

  /// `[a, b, c]`
  bool nameList(std::vector<PlacedName> &names) {
    advance();
    while (!current().is("]")) {
      if (!names.empty() && !current().is(",")) {
        fail(current(), unexpected(current(), "`,` or `]`"),
             current().kind == Token::End || current().is("=") ? "add `]`" : dimsOnly.str());
        return false;
      }
      if (!names.empty())
        advance();
      if (!name(names.emplace_back(), "the name of a dim", dimsOnly))
        return false;
    }
    advance();
    return true;
  }

  ExprPtr node(SyntaxExpr::Kind kind, const Token &first, uint32_t place) {
    auto e = std::make_unique<SyntaxExpr>();
    e->kind = kind;
    e->begin = first.begin;
    e->place = place;
    return e;
  }

  /// Sets what depends on the children; refuses trees that are too deep.
  ExprPtr finish(ExprPtr e) {
    e->end = at ? tokens[at - 1].end : 0;
    for (const ExprPtr &arg : e->args)
      e->depth = std::max(e->depth, arg->depth + 1);
    if (e->depth <= maxExpressionDepth)
      return e;
    bool isChain = e->kind == SyntaxExpr::Binary && e->args[0]->depth + 1 == e->depth;
    Diagnostic finding = tooDeep(e->place);
    if (isChain)
      finding.message = "more than " + std::to_string(maxExpressionDepth) + " operations in a row";
    diagnostics.add(std::move(finding));
    return nullptr;
  }

  Diagnostic tooDeep(size_t place) const {
    return source.at(place,
                     "the expression is nested deeper than " + std::to_string(maxExpressionDepth) +
                         " levels",
                     "divide it into several statements");
  }

  ExprPtr expression(Power minimum) {
    // The recursion is bounded before the tree is: a prefix such as ((((( builds no nodes.
    if (nesting >= maxExpressionDepth) {
      diagnostics.add(tooDeep(current().begin));
      return nullptr;
    }
    ++nesting;
    ExprPtr left = prefix();
    while (left) {
      const OperatorRow *row = operatorOf(current());
      if (!row || row->power < minimum)
        break;
      left = binary(std::move(left), *row);
    }
    --nesting;
    return left;
  }

  ExprPtr binary(ExprPtr left, const OperatorRow &row) {
    Token token = advance();
    ExprPtr e = node(SyntaxExpr::Binary, token, token.begin);
    e->begin = left->begin;
    e->op = row.op;
    e->args.push_back(std::move(left));
    // ** is right-associative and binds less tightly than a minus on its right: 2 ** -1.
    ExprPtr right = expression(row.op == Operator::Pow ? NegatePower : Power(row.power + 1));
    if (!right)
      return nullptr;
    e->args.push_back(std::move(right));
    const OperatorRow *next = operatorOf(current());
    if (isComparison(row.op) && next && isComparison(next->op)) {
      fail(current(), "comparisons are not chained", "write `a < b and b < c`");
      return nullptr;
    }
    return finish(std::move(e));
  }

  ExprPtr prefix() {
    const Token token = current();
    if (token.is("-") || token.is("+") || token.isWord("not")) {
      advance();
      ExprPtr operand = expression(token.isWord("not") ? NotPower : NegatePower);
      if (!operand || token.is("+"))
        return operand;
      ExprPtr e = node(token.is("-") ? SyntaxExpr::Negate : SyntaxExpr::Not, token, token.begin);
      e->args.push_back(std::move(operand));
      return finish(std::move(e));
    }
    if (token.is("("))
      return parenthesis();
    if (token.kind == Token::Integer || token.kind == Token::Real) {
      advance();
      ExprPtr e = node(token.kind == Token::Integer ? SyntaxExpr::Integer : SyntaxExpr::Real, token,
                       token.begin);
      e->integer = token.integer;
      e->real = token.real;
      return finish(std::move(e));
    }
    bool word = token.kind == Token::Name &&
                (!isReservedWord(token.text) || token.text == "inf" || token.text == "pi");
    if (!word) {
      fail(token, unexpected(token, "an expression"), insteadOfOperand());
      return nullptr;
    }
    return nameCallOrRead();
  }

  ExprPtr parenthesis() {
    const Token open = advance();
    ExprPtr first = expression(OrPower);
    if (!first)
      return nullptr;
    if (!current().is(",")) {
      if (!expect(")", ")"))
        return nullptr;
      first->begin = open.begin; // texts that are quoted keep their parentheses
      first->end = tokens[at - 1].end;
      return first;
    }
    ExprPtr tuple = node(SyntaxExpr::Tuple, open, open.begin);
    tuple->args.push_back(std::move(first));
    while (current().is(",")) {
      advance();
      if (current().is(")"))
        break;
      ExprPtr next = expression(OrPower);
      if (!next)
        return nullptr;
      tuple->args.push_back(std::move(next));
    }
    return expect(")", ")") ? finish(std::move(tuple)) : nullptr;
  }

  ExprPtr nameCallOrRead() {
    const Token token = advance();
    bool call = current().is("("), read = current().is("[");
    ExprPtr e = node(call   ? SyntaxExpr::Call
                     : read ? SyntaxExpr::Subscript
                            : SyntaxExpr::Name,
                     token, token.begin);
    e->name = token.text.str();
    if (!call && !read)
      return finish(std::move(e));
    advance();
    StringRef close = call ? ")" : "]";
    while (!current().is(close)) {
      if (!e->args.empty() && !expect(",", close))
        return nullptr;
      ExprPtr arg = expression(OrPower);
      if (!arg)
        return nullptr;
      e->args.push_back(std::move(arg));
    }
    advance();
    if (read && current().isWord("else")) {
      advance();
      e->otherwise = expression(NegatePower);
      if (!e->otherwise)
        return nullptr;
    }
    return finish(std::move(e));
  }

  const SourceText &source;
  std::vector<Token> tokens;
  Diagnostics &diagnostics;
  size_t at = 0;
  unsigned nesting = 0;
};

std::optional<Parser> parserOf(const SourceText &text, Diagnostics &diagnostics) {
  auto tokens = tokenize(text, diagnostics);
  if (!tokens)
    return std::nullopt;
  return Parser(text, std::move(*tokens), diagnostics);
}

} // namespace

StringRef spelling(Operator op) {
  return llvm::find_if(operators, [&](const auto &row) { return row.op == op; })->spelling;
}

bool isReservedWord(StringRef word) {
  return llvm::is_contained({"and", "or", "not", "else", "inf", "pi"}, word);
}

ExprPtr parseExpression(const SourceText &text, Diagnostics &diagnostics) {
  auto parser = parserOf(text, diagnostics);
  return parser ? parser->wholeExpression() : nullptr;
}

std::optional<Statement> parseStatement(const SourceText &text, Diagnostics &diagnostics) {
  auto parser = parserOf(text, diagnostics);
  return parser ? parser->statement() : std::nullopt;
}

std::optional<ArrayTypeSyntax> parseArrayType(const SourceText &text, Diagnostics &diagnostics) {
  auto parser = parserOf(text, diagnostics);
  return parser ? parser->arrayType() : std::nullopt;
}

std::optional<ParamSyntax> parseParam(const SourceText &text, Diagnostics &diagnostics) {
  auto parser = parserOf(text, diagnostics);
  return parser ? parser->param() : std::nullopt;
}

} // namespace attnc
