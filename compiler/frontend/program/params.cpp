// Integers and scalars that do not depend on indices: let, require, params.
#include "compiler/frontend/program/program_builder.h"
#include "dialects/Attn/SpecLocation.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <limits>

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
               .at(0, "a let is an integer, this is '" + over->second + "'",
                   "for example --set " + let.key + "=128"));
  return value;
}

/// Evaluates a let when something needs it; a let may use others, in any order.
void ProgramBuilder::resolveLet(const JsonMember &let) {
  if (llvm::is_contained(letsInProgress, let.key)) {
    letsInProgress.push_back(let.key);
    report(file.at(let.keyOffset,
                   "the let '" + let.key +
                       "' depends on itself: " + llvm::join(letsInProgress, " -> "),
                   "express one of them in sizes"));
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
  assumeExtents();
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
      report(scope, expr->place, "this fact does not hold for the static extents of the spec",
             "change the extents in `dims`, or the fact");
    return;
  }
  intervals.assume(condition);
  Location loc = locate(scope, expr->place);
  attn::RequireOp::create(builder, loc, materialise(loc, condition), inOneLine(value.text));
}

//===----------------------------------------------------------------------===//
// params
//===----------------------------------------------------------------------===//

static constexpr double largestF32 = std::numeric_limits<float>::max();
/// Bounds of tiles add indices to integer params; programs take them within this range.
static constexpr double largestInteger = 0x1p40;

/// True if `x` is no infinity, but rounds to one.
static bool isBeyondF32(double x) { return std::isfinite(x) && std::fabs(x) >= 0x1.ffffffp127; }

/// What an f32 param gets of `x`, which is within f32.
static double inF32(double x) { return static_cast<float>(x); }

/// A bound as params are compared with it: 0.1 is the f32 0.1, so that it may equal the default.
/// One that f32 has nothing for, or only 0, stays.
static double boundInF32(double x) {
  if (std::isinf(x) || isBeyondF32(x) || (inF32(x) == 0 && x != 0))
    return x;
  return inF32(x);
}

/// True if a param of this type can have a value of the range.
static bool hasValue(const ParamRange &range, ScalarType type) {
  if (range.empty())
    return false;
  if (type == ScalarType::Int) {
    double lower = range.lower.value_or(-largestInteger);
    double first =
        std::max(range.lowerOpen ? std::floor(lower) + 1 : std::ceil(lower), -largestInteger);
    return first <= largestInteger && range.contains(first);
  }
  if (range.lower && *range.lower > largestF32)
    return false;
  auto first = static_cast<float>(std::max(range.lower.value_or(-largestF32), -largestF32));
  if (!range.contains(first))
    first = std::nextafter(first, std::numeric_limits<float>::infinity());
  return std::isfinite(first) && range.contains(first);
}

static std::string number(double x) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", x);
  return text;
}

namespace {
struct Mistake {
  std::string message, remedy;
};
} // namespace

/// True if a constant of `value` is finite and no f32.
static bool hasConstantBeyondF32(const Scalar *value) {
  if (value->isConstant())
    return isFloat(value->type) && isBeyondF32(value->real);
  return llvm::any_of(value->args, hasConstantBeyondF32);
}

/// What is wrong with a default, as far as it is known here: with what a param of this type gets.
static std::optional<Mistake> defaultMistake(const Scalar *value, const ParamRange &range,
                                             ScalarType type) {
  if (type == ScalarType::F32 && hasConstantBeyondF32(value))
    return Mistake{value->isConstant() ? "the default is beyond the numbers of f32"
                                       : "a number in the default is beyond the numbers of f32",
                   "write a number of at most " + number(largestF32) + " in magnitude"};
  if (!value->isConstant())
    return std::nullopt;
  double written = value->asReal();
  if (!std::isfinite(written))
    return Mistake{"the default is not a finite number",
                   "write a number, or an expression that is one for the extents in `dims`"};
  if (type == ScalarType::Int && std::fabs(written) > largestInteger)
    return Mistake{"the default is beyond the integers that a param may be",
                   "write an integer from -2^40 to 2^40: indices are added to params"};
  double passed = type == ScalarType::F32 ? inF32(written) : written;
  if (range.contains(passed))
    return std::nullopt;
  std::string rounding = range.contains(written) ? ", " + number(passed) + " in f32," : "";
  return Mistake{"the default" + rounding + " is outside the param's range",
                 "choose another default, or a wider range"};
}

void ProgramBuilder::declareParams() {
  const JsonValue *params = section("params", JsonValue::Object);
  if (!params)
    return;
  for (const JsonMember &member : params->members)
    declareParam(member);
}

void ProgramBuilder::declareParam(const JsonMember &param) {
  if (!declare(param.key, Symbol::Wrong, param.keyOffset))
    return;
  bool isNumber = param.value.kind == JsonValue::Integer || param.value.kind == JsonValue::Float;
  if (isNumber) {
    report(file.at(param.value.offset, "a param has a type, here is only a number",
                   "write its type and its default: \"" + param.key + "\": \"" +
                       (param.value.kind == JsonValue::Integer ? "i64" : "f32") + " = " +
                       param.value.toJson().dump() + "\""));
    return;
  }
  if (!expectKind(param.value, JsonValue::String, "a param",
                  "\"scale\": \"f32 > 0 = 1/sqrt(size(d))\""))
    return;
  SourceText text(file, param.value);
  NameScope scope{text, NameScope::Sizes};
  auto syntax = parseParam(text, diagnostics);
  Type element = syntax ? requireType(text, syntax->type) : Type();
  if (!element)
    return;
  if (!element.isF32() && !element.isSignlessInteger(64)) {
    report(scope, syntax->type.place, "a param is f32 or i64",
           element.isSignlessInteger(1)
               ? "write `i64 >= 0 <= 1`, and compare: " + param.key + " == 1"
               : "the body computes in these: write f32 for a real number");
    return;
  }
  ScalarType type = scalarTypeOf(element);
  ParamRange range;
  for (const ParamSyntax::Bound &bound : syntax->bounds) {
    const Scalar *value = evaluate(scope, *bound.value);
    if (value->isPoison())
      return;
    if (!value->isConstant() || value->type == ScalarType::Bool) {
      report(scope, bound.value->place, "a bound of a param is a constant number",
             "write a number: `f32 > 0 <= 64`");
      return;
    }
    bool isLower = bound.op == Operator::Gt || bound.op == Operator::Ge;
    (isLower ? range.lower : range.upper) =
        type == ScalarType::F32 ? boundInF32(value->asReal()) : value->asReal();
    (isLower ? range.lowerOpen : range.upperOpen) =
        bound.op == Operator::Gt || bound.op == Operator::Lt;
  }
  if (!hasValue(range, type)) {
    report(scope, syntax->bounds.front().value->place, "no number is in this range",
           "the lower bound comes after `>` or `>=`, the upper one after `<` or `<=`");
    return;
  }
  Value defaultValue;
  if (syntax->value) {
    const Scalar *value = paramDefault(scope, *syntax->value, type);
    if (value->isPoison())
      return;
    if (std::optional<Mistake> mistake = defaultMistake(value, range, type)) {
      report(scope, syntax->value->place, mistake->message, mistake->remedy);
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
  if (type == ScalarType::Int)
    intervals.setLeaf(result, range.ofIntegers());
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
  return wrong(
      scope, expr.place,
      "the default is " + typeName(value->type).str() + ", the param is " + typeName(type).str(),
      type == ScalarType::Int ? "write an integer, or make the param f32" : "write a number");
}

} // namespace attnc
