// The body: statements, names, operators.
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/suggest.h"

using namespace mlir;

namespace attnc {

/// A longer text is refused: it is not index notation.
static constexpr size_t maxStatementBytes = 1 << 14;
/// How deep expressions and the lets that they use may nest together.
static constexpr unsigned maxEvaluationDepth = 2 * maxExpressionDepth;

void ProgramBuilder::buildBody() {
  const JsonValue *body = section("body", JsonValue::Array);
  bodyIncomplete = !body;
  if (!body)
    return;
  bodyIncomplete = body->elements.empty();
  if (body->elements.empty())
    report(file.at(body->offset, "the body is empty",
                   "add a statement: \"o = sum(j, p * v[b,h,j,e])\""));
  for (const JsonValue &statement : body->elements)
    buildStatement(statement);
}

/// Reports what is wrong with a list that stands for a statement.
void ProgramBuilder::refuseLines(const JsonValue &list) {
  constexpr StringLiteral example = "[\"p = softmax(j,\", \"            s)\"]";
  if (list.elements.empty())
    report(file.at(list.offset, "the list holds no line of a statement",
                   "a statement over several lines is a list of strings: " + example.str()));
  for (const JsonValue &line : list.elements)
    expectKind(line, JsonValue::String, "a line of a statement", example);
}

void ProgramBuilder::buildStatement(const JsonValue &value) {
  if (value.kind == JsonValue::Object)
    return buildRepeat(value);
  if (value.kind != JsonValue::String)
    bodyIncomplete = true;
  if (value.kind == JsonValue::Array) // of something else than lines, which have been joined
    return refuseLines(value);
  if (!expectKind(value, JsonValue::String, "a statement", "\"p = softmax(j, s)\""))
    return;
  SourceText text(file, value);
  if (value.text.size() > maxStatementBytes) {
    report(text.at(0, "a statement of " + std::to_string(value.text.size()) + " bytes",
                   "divide it; a statement has at most " + std::to_string(maxStatementBytes)));
    bodyIncomplete = true;
    return;
  }
  auto statement = parseStatement(text, diagnostics);
  if (!statement) {
    // What it was to compute, and how many statements it is, is not known.
    bodyIncomplete = true;
    markWordsWrong(value.text);
    return;
  }
  NameScope scope{text, NameScope::Body};
  Operation *before = lastOperation();
  assign(text, *statement, evaluate(scope, *statement->value), before);
}

bool ProgramBuilder::checkLabel(const SourceText &text, const Statement &statement,
                                ArrayRef<StringAttr> dims) {
  SmallVector<StringAttr> label;
  for (const PlacedName &name : statement.label) {
    StringAttr dim = dimNamed(name.name);
    if (!dim) {
      NameScope scope{text, NameScope::Body};
      unknownName(scope, name.name, name.place, /*wantsDim=*/true);
      return false;
    }
    if (llvm::is_contained(label, dim)) {
      report(text.at(name.place, "the dim '" + name.name + "' occurs twice in the label",
                     "name each free dim of the value once"));
      return false;
    }
    label.push_back(dim);
  }
  auto spell = [](ArrayRef<StringAttr> names) {
    std::string list;
    for (StringAttr name : names)
      list += (list.empty() ? "" : ", ") + name.str();
    return "[" + list + "]";
  };
  if (label.size() == dims.size() &&
      llvm::all_of(dims, [&](StringAttr d) { return llvm::is_contained(label, d); }))
    return true;
  if (extentsIncomplete)
    return false;
  std::string remedy;
  for (StringAttr dim : dims)
    if (remedy.empty() && !llvm::is_contained(label, dim))
      remedy = "the value depends on '" + dim.str() + "': reduce it, sum(" + dim.str() +
               ", ...), or add it to the label; if its extent was meant, write size(" + dim.str() +
               ")";
  for (StringAttr dim : label)
    if (remedy.empty() && !llvm::is_contained(dims, dim))
      remedy = useOfLabel(dim);
  report(
      text.at(statement.target.place,
              "the label " + spell(label) + " does not name the dims of the value, " + spell(dims),
              std::move(remedy)));
  return false;
}

/// What is right where a label names a dim that the value has not got.
std::string ProgramBuilder::useOfLabel(StringAttr dim) {
  std::string remedy = "the value does not depend on '" + dim.str() + "': take it out of the label";
  SmallVector<StringRef> carriers;
  bool others = false;
  for (const auto &[name, symbol] : symbols) {
    if (symbol.kind != Symbol::Input || symbol.axes.size() < 2)
      continue;
    if (llvm::is_contained(symbol.axes, dim))
      carriers.push_back(name);
    else
      others = true;
  }
  // Queries and keys over one dim: what sums over the keys sums over the queries too.
  if (carriers.size() > 1 && !others)
    remedy += "; if " + carriers[0].str() + " and " + carriers[1].str() +
              " have an index each, give the second one a dim of its own in `inputs`";
  return remedy;
}

Operation *ProgramBuilder::lastOperation() {
  Block *block = program.getBodyBlock();
  return block->empty() ? nullptr : &block->back();
}

/// True if the array was computed after `before`, by an op that no other statement shares.
bool ProgramBuilder::isFresh(Value array, Operation *before) {
  Operation *op = array.getDefiningOp();
  bool isResult = isa<attn::MapOp, attn::ReduceOp, attn::SoftmaxOp>(op) ||
                  (isa<attn::ReadOp>(op) && !cast<attn::ReadOp>(op).isPlain());
  return isResult && (!before || before->isBeforeInBlock(op));
}

void ProgramBuilder::assign(const SourceText &text, const Statement &statement, const Scalar *value,
                            Operation *before) {
  const std::string &name = statement.target.name;
  if (isFunctionName(name)) {
    report(text.at(statement.target.place, "'" + name + "' is the name of a function",
                   "choose another name"));
    return;
  }
  Symbol result;
  result.kind = Symbol::Result;
  result.labelled = statement.labelled;
  if (Symbol *old = lookup(name);
      old && old->kind != Symbol::Result && old->kind != Symbol::Wrong) {
    report(text.at(statement.target.place,
                   "'" + name + "' cannot be assigned: it is declared in " +
                       file.lineText(old->offset),
                   "only results of the body may be assigned again; choose another name"));
    refusedNames.insert(name);
    return;
  }
  if (!value->isPoison() && !value->isConstant()) {
    NameScope scope{text, NameScope::Body};
    Location loc = locate(scope, statement.value->place, name);
    Value array = materialise(loc, value);
    if (isFresh(array, before))
      array.setLoc(loc);
    value = scalars.array(loc, array);
  }
  if (!value->isPoison()) {
    SmallVector<StringAttr> dims;
    if (value->kind == Scalar::Array)
      llvm::append_range(dims, cast<attn::ArrayType>(value->array.getType()).getDims());
    result.axes = dims;
    if (statement.labelled) {
      if (!checkLabel(text, statement, dims))
        value = scalars.poison(builder.getUnknownLoc());
      result.axes.clear();
      for (const PlacedName &dim : statement.label)
        result.axes.push_back(builder.getStringAttr(dim.name));
    }
  }
  result.value = value;
  if (value->isPoison())
    result.kind = Symbol::Wrong;
  noteAssignment(builder.getStringAttr(name));
  symbols[builder.getStringAttr(name)] = result;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

const Scalar *ProgramBuilder::evaluate(const NameScope &scope, const SyntaxExpr &expr) {
  if (evaluationDepth >= maxEvaluationDepth)
    return wrong(scope, expr.place, "the expression and the lets that it uses are nested too deep",
                 "divide the expression, and express lets in sizes");
  ++evaluationDepth;
  const Scalar *value = evaluateNode(scope, expr);
  --evaluationDepth;
  return value;
}

const Scalar *ProgramBuilder::evaluateNode(const NameScope &scope, const SyntaxExpr &expr) {
  switch (expr.kind) {
  case SyntaxExpr::Integer:
    return scalars.integer(locate(scope, expr.place), expr.integer);
  case SyntaxExpr::Real:
    return scalars.real(locate(scope, expr.place), expr.real);
  case SyntaxExpr::Name:
    return evaluateName(scope, expr);
  case SyntaxExpr::Binary:
    return evaluateBinary(scope, expr);
  case SyntaxExpr::Call:
    return evaluateCall(scope, expr);
  case SyntaxExpr::Subscript:
    return evaluateRead(scope, expr);
  case SyntaxExpr::Tuple:
    return wrong(scope, expr.place, "a tuple stands only where a reduction names its dims",
                 "for example sum((j, t), x)");
  case SyntaxExpr::Negate:
  case SyntaxExpr::Not:
    break;
  }
  bool isNot = expr.kind == SyntaxExpr::Not;
  const Scalar *operand = evaluate(scope, *expr.args[0]);
  if (operand->isPoison())
    return operand;
  if (isNot != (operand->type == ScalarType::Bool))
    return wrong(scope, expr.place,
                 (isNot ? "`not` takes a condition, this is " : "`-` takes a number, this is ") +
                     typeName(operand->type).str(),
                 isNot ? "compare it: x == 0" : "where(condition, 1, 0) is a number");
  return scalars.operation(locate(scope, expr.place), isNot ? ScalarOp::Not : ScalarOp::Neg,
                           operand->type, {operand});
}

const Scalar *ProgramBuilder::unknownName(const NameScope &scope, StringRef name, size_t place,
                                          bool wantsDim) {
  Symbol *symbol = lookup(name);
  if (symbol && symbol->kind == Symbol::Wrong)
    return scalars.poison(builder.getUnknownLoc());
  if (symbol || isFunctionName(name))
    return wrong(scope, place, "'" + name.str() + "' is not a dim",
                 "the dims are " + llvm::join(namesOf(Symbol::Dim), ", "));
  if (!wantsDim && repeatLocals.contains(name) && reportedNames.insert(name).second)
    return wrong(scope, place, "'" + name.str() + "' has a value only inside the repeat",
                 "assign it before the repeat and carry it, or compute it again here");
  // One mistake is one error, however often the name occurs.
  if (!reportedNames.insert(name).second)
    return scalars.poison(builder.getUnknownLoc());
  const JsonValue *params = root.find("params");
  if (scope.names == NameScope::Sizes && params && params->find(name))
    return wrong(scope, place, "the param '" + name.str() + "' has no value here",
                 "extents, lets and facts are made of sizes, lets and numbers: a number that is "
                 "known when the spec is compiled belongs into `let`");
  std::vector<std::string> known = namesOf(
      [&](Symbol::Kind kind) { return wantsDim ? kind == Symbol::Dim : kind != Symbol::Wrong; });
  if (!wantsDim)
    for (StringRef function : functionNames())
      known.push_back(function.str());
  return wrong(
      scope, place,
      wantsDim ? "the dim '" + name.str() + "' has no extent" : "unknown name '" + name.str() + "'",
      adviceOnName(name, known,
                   wantsDim ? "a dim occurs in an input, or its extent stands in `dims`"
                            : "declare it in `inputs`, `params` or `let`, assign it before, "
                              "or, if it is a dim, give its extent in `dims`",
                   wantsDim ? std::vector<std::string>()
                            : namesOf([](Symbol::Kind kind) { return kind != Symbol::Wrong; })));
}

const Scalar *ProgramBuilder::evaluateName(const NameScope &scope, const SyntaxExpr &expr) {
  Location loc = locate(scope, expr.place);
  if (expr.name == "inf")
    return scalars.real(loc, std::numeric_limits<double>::infinity());
  if (expr.name == "pi")
    return scalars.real(loc, 3.14159265358979323846);
  Symbol *symbol = lookup(expr.name);
  if (!symbol && isFunctionName(expr.name))
    return wrong(scope, expr.place, "'" + expr.name + "' is a function",
                 "call it: " + expr.name + "(...)");
  if (!symbol)
    return unknownName(scope, expr.name, expr.place);
  symbol->used = true;
  if (symbol->kind == Symbol::Wrong || refusedNames.contains(expr.name))
    return scalars.poison(loc);
  bool hasIndices = symbol->kind == Symbol::Dim || symbol->kind == Symbol::Input ||
                    symbol->kind == Symbol::Result;
  if (scope.names == NameScope::Sizes && (hasIndices || symbol->kind == Symbol::Param))
    return wrong(scope, expr.place, "'" + expr.name + "' has no value here",
                 symbol->kind == Symbol::Dim ? "its extent is size(" + expr.name + ")"
                                             : "only sizes and lets can be used");
  switch (symbol->kind) {
  case Symbol::Dim:
    return scalars.array(loc, indexOf(builder.getStringAttr(expr.name), loc));
  case Symbol::Input:
    return readWhole(scope, expr, *symbol);
  case Symbol::Let:
    if (!symbol->value)
      resolveLet(*symbol->let);
    return lookup(expr.name)->value;
  default:
    return symbol->value;
  }
}

ScalarOp scalarOp(Operator op) {
  switch (op) {
  case Operator::Add:
    return ScalarOp::Add;
  case Operator::Sub:
    return ScalarOp::Sub;
  case Operator::Mul:
    return ScalarOp::Mul;
  case Operator::Div:
    return ScalarOp::Div;
  case Operator::FloorDiv:
    return ScalarOp::FloorDiv;
  case Operator::Mod:
    return ScalarOp::Mod;
  case Operator::Pow:
    return ScalarOp::Pow;
  case Operator::Lt:
    return ScalarOp::Lt;
  case Operator::Le:
    return ScalarOp::Le;
  case Operator::Gt:
    return ScalarOp::Gt;
  case Operator::Ge:
    return ScalarOp::Ge;
  case Operator::Eq:
    return ScalarOp::Eq;
  case Operator::Ne:
    return ScalarOp::Ne;
  case Operator::And:
    return ScalarOp::And;
  case Operator::Or:
    return ScalarOp::Or;
  }
  return ScalarOp::Add;
}

const Scalar *ProgramBuilder::evaluateBinary(const NameScope &scope, const SyntaxExpr &expr) {
  const Scalar *a = evaluate(scope, *expr.args[0]);
  const Scalar *b = evaluate(scope, *expr.args[1]);
  if (a->isPoison() || b->isPoison())
    return a->isPoison() ? a : b;
  Location loc = locate(scope, expr.place);
  ScalarOp op = scalarOp(expr.op);
  std::string sign = "`" + spelling(expr.op).str() + "`";
  bool logical = expr.op == Operator::And || expr.op == Operator::Or;
  for (unsigned side : {0u, 1u}) {
    const Scalar *operand = side ? b : a;
    if (logical != (operand->type == ScalarType::Bool))
      return wrong(
          scope, expr.args[side]->place,
          sign + (logical ? " takes conditions, this is " : " takes numbers, this is ") +
              typeName(operand->type).str(),
          logical ? "compare it: x != 0"
          : expr.op == Operator::Eq || expr.op == Operator::Ne
              ? "use the condition itself, or `not`; two conditions agree where `a and b or "
                "not a and not b`"
              : "where(condition, 1, 0) is a number");
  }
  if (logical) {
    warnAboutPair(scope, expr, a, b);
    return scalars.operation(loc, op, ScalarType::Bool, {a, b});
  }
  if (expr.op == Operator::Pow)
    return power(scope, expr, a, b);
  ScalarType type = std::max(a->type, b->type);
  if (expr.op == Operator::Div)
    type = std::max(type, ScalarType::F32);
  if (isFloat(type)) {
    a = scalars.toFloat(a->loc, a, type);
    b = scalars.toFloat(b->loc, b, type);
  }
  if (expr.op == Operator::FloorDiv || expr.op == Operator::Mod)
    return divideWhole(scope, expr, op, a, b);
  bool comparison = expr.op >= Operator::Lt && expr.op <= Operator::Ne;
  if (comparison)
    warnAboutComparison(scope, expr, a, b);
  const Scalar *result = scalars.operation(loc, op, comparison ? ScalarType::Bool : type, {a, b});
  if (type == ScalarType::Int && a->isConstant() && b->isConstant() && !result->isConstant())
    return wrong(scope, expr.place, "the integer is out of range",
                 "integers have 64 bits; write a real number as 1e20");
  return result;
}

/// `//` and `%`, which floor. A divisor that may be 0 gives 0 (and the remainder 0), since the
/// machine's division would trap; so would the least integer divided by -1.
const Scalar *ProgramBuilder::divideWhole(const NameScope &scope, const SyntaxExpr &expr,
                                          ScalarOp op, const Scalar *a, const Scalar *b) {
  Location loc = locate(scope, expr.place);
  bool isDivision = op == ScalarOp::FloorDiv;
  auto make = [&](ScalarOp o, ScalarType type, ArrayRef<const Scalar *> args) {
    return scalars.operation(loc, o, type, args);
  };
  if (isFloat(a->type)) {
    const Scalar *floor = make(ScalarOp::Floor, a->type, {make(ScalarOp::Div, a->type, {a, b})});
    if (isDivision)
      return floor;
    return make(ScalarOp::Sub, a->type, {a, make(ScalarOp::Mul, a->type, {b, floor})});
  }
  if (b->isConstant() && b->integer == 0)
    return wrong(scope, expr.place, "division by zero",
                 "write a divisor other than 0; one that is 0 only for some shapes gives 0");
  bool safe = b->isConstant() ? b->integer != -1 : intervals.provesAtLeast(b, Polynomial(1));
  if (safe || (a->isConstant() && b->isConstant()))
    return make(op, ScalarType::Int, {a, b});
  const Scalar *zero = scalars.integer(loc, 0), *one = scalars.integer(loc, 1);
  const Scalar *isZero = make(ScalarOp::Eq, ScalarType::Bool, {b, zero});
  const Scalar *isMinusOne = make(ScalarOp::Eq, ScalarType::Bool, {b, scalars.integer(loc, -1)});
  const Scalar *traps = make(ScalarOp::Or, ScalarType::Bool, {isZero, isMinusOne});
  const Scalar *divisor = make(ScalarOp::Where, ScalarType::Int, {traps, one, b});
  const Scalar *result = make(op, ScalarType::Int, {a, divisor});
  if (!isDivision) // the remainder of 1 is that of -1, 0
    return result;
  const Scalar *negated = make(ScalarOp::Neg, ScalarType::Int, {a});
  const Scalar *other = make(ScalarOp::Where, ScalarType::Int, {isZero, zero, negated});
  return make(ScalarOp::Where, ScalarType::Int, {traps, other, result});
}

/// `**`: a whole power of an integer stays an integer; a square is a product.
const Scalar *ProgramBuilder::power(const NameScope &scope, const SyntaxExpr &expr, const Scalar *a,
                                    const Scalar *b) {
  Location loc = locate(scope, expr.place);
  constexpr int64_t most = 16;
  bool whole =
      b->isConstant() && b->type == ScalarType::Int && b->integer >= 0 && b->integer <= most;
  if (whole && (a->type == ScalarType::Int || b->integer == 2)) {
    const Scalar *product = a;
    if (b->integer == 0) { // 1, with the dims of a
      product = scalars.operation(loc, ScalarOp::Mul, a->type, {a, b});
      return scalars.operation(loc, ScalarOp::Add, a->type, {product, scalars.integer(loc, 1)});
    }
    for (int64_t i = 1; i < b->integer; ++i) {
      product = scalars.operation(loc, ScalarOp::Mul, a->type, {product, a});
      if (a->isConstant() && !product->isConstant())
        return wrong(scope, expr.place, "the integer is out of range",
                     "integers have 64 bits; write a real number as 1e20");
    }
    return product;
  }
  ScalarType type = std::max({a->type, b->type, ScalarType::F32});
  return scalars.operation(loc, ScalarOp::Pow, type,
                           {scalars.toFloat(loc, a, type), scalars.toFloat(loc, b, type)});
}

} // namespace attnc
