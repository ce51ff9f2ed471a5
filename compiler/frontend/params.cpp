// Integers and scalars that do not depend on indices: let, require, params.
#include "compiler/frontend/program_builder.h"
#include "dialects/Attn/SpecLocation.h"
#include <cmath>

using namespace mlir;

namespace attnc {

//===----------------------------------------------------------------------===//
// let
//===----------------------------------------------------------------------===//

void ProgramBuilder::declareLets() {
  const JsonValue *lets = section("let", JsonValue::Object);
  if (!lets)
    return;
  for (const JsonMember &member : lets->members)
    if (Symbol *symbol = declare(member.key, Symbol::Let, member.keyOffset))
      symbol->let = &member;
}

/// The let of this name if it is a number, which `--set` may replace.
const JsonValue *ProgramBuilder::integerLet(StringRef name) {
  const JsonValue *lets = root.find("let");
  const JsonValue *let = lets ? lets->find(name) : nullptr;
  return let && let->kind == JsonValue::Integer ? let : nullptr;
}

int64_t ProgramBuilder::letValue(const JsonMember &let) {
  auto over = overrides.values.find(let.key);
  if (over == overrides.values.end())
    return let.value.integer;
  int64_t value = let.value.integer;
  if (StringRef(over->second).getAsInteger(10, value))
    report(SourceText("--set " + let.key + "=" + over->second, over->second)
               .at(0, "a let is an integer, this is '" + over->second + "'"));
  return value;
}

/// Evaluates a let when something needs it; a let may use others, in any order.
void ProgramBuilder::resolveLet(const JsonMember &let) {
  if (llvm::is_contained(letsInProgress, let.key)) {
    letsInProgress.push_back(let.key);
    report(file.at(let.keyOffset, "the let '" + let.key + "' depends on itself: " +
                                      llvm::join(letsInProgress, " -> ")));
    letsInProgress.pop_back();
    lookup(let.key)->value = scalars.poison(builder.getUnknownLoc());
    return;
  }
  const Scalar *value = scalars.poison(builder.getUnknownLoc());
  if (let.value.kind == JsonValue::Integer) {
    value = scalars.integer(locate(let.value.offset, let.key), letValue(let));
  } else if (expectKind(let.value, JsonValue::String, "a let", "\"g\": \"size(h) // size(hk)\"")) {
    SourceText text(file, let.value);
    NameScope scope{text, NameScope::Sizes};
    letsInProgress.push_back(let.key);
    if (ExprPtr expr = parseExpression(text, diagnostics)) {
      value = evaluate(scope, *expr);
      if (!value->isPoison() && value->type != ScalarType::Int)
        value =
            wrong(scope, expr->place, "a let is an integer, this is " + typeName(value->type).str(),
                  "divide with `//`; real numbers belong into `params` or the body");
      if (!value->isPoison() && !value->isConstant()) {
        Location loc = locate(scope, expr->place, let.key);
        value = scalars.array(loc, materialise(loc, value));
      }
    }
    letsInProgress.pop_back();
  }
  Symbol *symbol = lookup(let.key);
  if (!symbol->value) // a cycle has been reported otherwise
    symbol->value = value;
}

//===----------------------------------------------------------------------===//
// require
//===----------------------------------------------------------------------===//

void ProgramBuilder::readRequires() {
  if (const JsonValue *list = section("require", JsonValue::Array))
    for (const JsonValue &text : list->elements)
      readRequire(text);
  intervals.forget();
  std::vector<const JsonMember *> unresolved;
  for (const auto &[name, symbol] : symbols)
    if (symbol.kind == Symbol::Let && !symbol.value)
      unresolved.push_back(symbol.let);
  for (const JsonMember *let : unresolved)
    if (!lookup(let->key)->value)
      resolveLet(*let);
}

void ProgramBuilder::readRequire(const JsonValue &value) {
  if (!expectKind(value, JsonValue::String, "a fact", "\"size(h) % size(hk) == 0\""))
    return;
  SourceText text(file, value);
  NameScope scope{text, NameScope::Sizes};
  ExprPtr expr = parseExpression(text, diagnostics);
  const Scalar *condition = expr ? evaluate(scope, *expr) : nullptr;
  if (!condition || condition->isPoison())
    return;
  if (condition->type != ScalarType::Bool) {
    report(scope, expr->place, "a fact is a condition, this is " + typeName(condition->type).str(),
           "for example \"size(h) % size(hk) == 0\"");
    return;
  }
  if (condition->isConstant()) {
    if (!condition->integer)
      report(scope, expr->place, "this fact does not hold for the static extents of the spec");
    return;
  }
  assume(condition);
  Location loc = locate(scope, expr->place);
  attn::RequireOp::create(builder, loc, materialise(loc, condition), value.text);
}

/// Takes over what the size facts can use of a condition; the rest is only checked at run time.
void ProgramBuilder::assume(const Scalar *condition) {
  if (condition->kind != Scalar::Operation)
    return;
  if (condition->op == ScalarOp::And) {
    assume(condition->args[0]);
    assume(condition->args[1]);
    return;
  }
  const Scalar *left = condition->args.front(), *right = condition->args.back();
  if (left->type != ScalarType::Int || right->type != ScalarType::Int)
    return;
  bool isZero = right->isConstant() && right->integer == 0;
  if (condition->op == ScalarOp::Eq && isZero && left->kind == Scalar::Operation &&
      left->op == ScalarOp::Mod) {
    auto a = intervals.interval(left->args[0]).exact, b = intervals.interval(left->args[1]).exact;
    if (a && b)
      facts.assumeDivides(*a, *b);
    intervals.forget();
    return;
  }
  auto a = intervals.interval(left).exact, b = intervals.interval(right).exact;
  if (!a || !b)
    return;
  auto atMost = [&](const Polynomial &x, const Polynomial &y, int64_t gap) {
    auto difference = Polynomial::subtract(y, x);
    if (auto room = difference ? Polynomial::subtract(*difference, Polynomial(gap)) : std::nullopt)
      facts.assumeNotNegative(*room);
  };
  switch (condition->op) {
  case ScalarOp::Eq:
    facts.assumeEqual(*a, *b);
    break;
  case ScalarOp::Le:
    atMost(*a, *b, 0);
    break;
  case ScalarOp::Lt:
    atMost(*a, *b, 1);
    break;
  case ScalarOp::Ge:
    atMost(*b, *a, 0);
    break;
  case ScalarOp::Gt:
    atMost(*b, *a, 1);
    break;
  default:
    break;
  }
  intervals.forget();
}

//===----------------------------------------------------------------------===//
// params
//===----------------------------------------------------------------------===//

namespace {

/// The declared range of a param.
struct Range {
  std::optional<double> lower, upper;
  bool lowerOpen = false, upperOpen = false;

  bool contains(double x) const {
    return !(lower && (lowerOpen ? x <= *lower : x < *lower)) &&
           !(upper && (upperOpen ? x >= *upper : x > *upper)) && x == x;
  }
  /// The integers of the range.
  Interval ofIntegers() const {
    Interval interval;
    constexpr double most = 1 << 30;
    if (lower && std::abs(*lower) < most) {
      double first = lowerOpen ? std::floor(*lower) + 1 : std::ceil(*lower);
      interval.lower.push_back(Polynomial(static_cast<int64_t>(first)));
    }
    if (upper && std::abs(*upper) < most) {
      double last = upperOpen ? std::ceil(*upper) - 1 : std::floor(*upper);
      interval.upper.push_back(Polynomial(static_cast<int64_t>(last)));
    }
    return interval;
  }
  bool empty() const {
    return lower && upper && (*lower > *upper || (*lower == *upper && (lowerOpen || upperOpen)));
  }
};

} // namespace

void ProgramBuilder::declareParams() {
  const JsonValue *params = section("params", JsonValue::Object);
  if (!params)
    return;
  for (const JsonMember &member : params->members)
    declareParam(member);
}

void ProgramBuilder::declareParam(const JsonMember &param) {
  if (!declare(param.key, Symbol::Wrong, param.keyOffset) ||
      !expectKind(param.value, JsonValue::String, "a param",
                  "\"scale\": \"f32 > 0 = 1/sqrt(size(d))\""))
    return;
  SourceText text(file, param.value);
  NameScope scope{text, NameScope::Sizes};
  auto syntax = parseParam(text, diagnostics);
  Type element = syntax ? requireType(text, syntax->type) : Type();
  if (!element)
    return;
  if (!element.isF32() && !element.isSignlessInteger(64)) {
    report(scope, syntax->type.place, "a param is f32 or i64");
    return;
  }
  ScalarType type = scalarTypeOf(element);
  Range range;
  for (const ParamSyntax::Bound &bound : syntax->bounds) {
    const Scalar *value = evaluate(scope, *bound.value);
    if (value->isPoison())
      return;
    if (!value->isConstant() || value->type == ScalarType::Bool) {
      report(scope, bound.value->place, "a bound of a param is a constant number");
      return;
    }
    bool isLower = bound.op == Operator::Gt || bound.op == Operator::Ge;
    (isLower ? range.lower : range.upper) = value->asReal();
    (isLower ? range.lowerOpen : range.upperOpen) =
        bound.op == Operator::Gt || bound.op == Operator::Lt;
  }
  if (range.empty()) {
    report(scope, syntax->bounds.front().value->place, "no number is in this range");
    return;
  }
  Value defaultValue;
  if (syntax->value) {
    const Scalar *value = paramDefault(scope, *syntax->value, type);
    if (value->isPoison())
      return;
    if (value->isConstant() && !range.contains(value->asReal())) {
      report(scope, syntax->value->place, "the default is outside the param's range");
      return;
    }
    defaultValue = materialise(locate(scope, syntax->value->place), value);
  }
  auto bound = [&](std::optional<double> value) {
    return value ? builder.getF64FloatAttr(*value) : FloatAttr();
  };
  Location loc = attn::renamed(locate(scope, 0), param.key);
  Value result = attn::ParamOp::create(builder, loc, arrayType({}, type), param.key, defaultValue,
                                       bound(range.lower), bound(range.upper), range.lowerOpen,
                                       range.upperOpen);
  if (type == ScalarType::Int) {
    intervals.setLeaf(result, range.ofIntegers());
  }
  Symbol *symbol = lookup(param.key);
  symbol->kind = Symbol::Param;
  symbol->value = scalars.array(loc, result);
}

const Scalar *ProgramBuilder::paramDefault(const NameScope &scope, const SyntaxExpr &expr,
                                           ScalarType type) {
  const Scalar *value = evaluate(scope, expr);
  if (value->isPoison() || value->type == type)
    return value;
  if (value->type == ScalarType::Int && isFloat(type))
    return scalars.toFloat(value->loc, value, type);
  return wrong(scope, expr.place,
               "the default is " + typeName(value->type).str() + ", the param is " +
                   typeName(type).str());
}

} // namespace attnc
