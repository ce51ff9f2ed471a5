#include "runtime/program/expr.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace attnc {

namespace {

struct OpRow {
  ExprOp op;
  std::string_view name;
  std::size_t arity;
};

/// Every op whose list holds nothing but operands; other leaves are spelled in parseExpr and
/// exprToJson.
constexpr OpRow ops[] = {
    {ExprOp::Add, "add", 2},       {ExprOp::Sub, "sub", 2},
    {ExprOp::Mul, "mul", 2},       {ExprOp::FloorDiv, "floordiv", 2},
    {ExprOp::Mod, "mod", 2},       {ExprOp::CeilDiv, "ceildiv", 2},
    {ExprOp::Div, "div", 2},       {ExprOp::Min, "min", 2},
    {ExprOp::Max, "max", 2},       {ExprOp::Neg, "neg", 1},
    {ExprOp::Sqrt, "sqrt", 1},     {ExprOp::Rsqrt, "rsqrt", 1},
    {ExprOp::Exp, "exp", 1},       {ExprOp::Log, "log", 1},
    {ExprOp::Pow, "pow", 2},       {ExprOp::Eq, "eq", 2},
    {ExprOp::Ne, "ne", 2},         {ExprOp::Lt, "lt", 2},
    {ExprOp::Le, "le", 2},         {ExprOp::Gt, "gt", 2},
    {ExprOp::Ge, "ge", 2},         {ExprOp::And, "and", 2},
    {ExprOp::Or, "or", 2},         {ExprOp::Not, "not", 1},
    {ExprOp::Select, "select", 3}, {ExprOp::Multiprocessors, "multiprocessors", 0},
};

const OpRow *findOp(ExprOp op) {
  for (const OpRow &row : ops)
    if (row.op == op)
      return &row;
  return nullptr;
}

std::string_view leafName(ExprOp op) {
  return op == ExprOp::Size ? "size" : op == ExprOp::Param ? "param" : "let";
}

Error overflow(std::string_view op, std::int64_t a, std::int64_t b) {
  return invalidArgument(fmt::format("{}({}, {}) does not fit in 64 bits", op, a, b));
}

/// a - floor(a / b) * b needs no product: only the sign of C++'s remainder is corrected.
std::int64_t floorMod(std::int64_t a, std::int64_t b) {
  std::int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Result<Scalar> integerPow(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // Beyond 63 factors only 0, 1 and -1 stay in range, and those repeat with period 2.
  std::int64_t steps = exponent > 64 ? 64 + exponent % 2 : exponent;
  for (std::int64_t step = 0; step < steps; ++step)
    if (__builtin_mul_overflow(result, base, &result))
      return overflow("pow", base, exponent);
  return Scalar(result);
}

Result<Scalar> applyIntegers(const OpRow &row, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (row.op) {
  case ExprOp::Add:
    overflows = __builtin_add_overflow(a, b, &result);
    break;
  case ExprOp::Sub:
    overflows = __builtin_sub_overflow(a, b, &result);
    break;
  case ExprOp::Mul:
    overflows = __builtin_mul_overflow(a, b, &result);
    break;
  case ExprOp::FloorDiv:
  case ExprOp::CeilDiv:
  case ExprOp::Mod: {
    if (b == 0)
      return invalidArgument(fmt::format("{}({}, 0) divides by zero", row.name, a));
    std::int64_t rest = floorMod(a, b);
    if (row.op == ExprOp::Mod)
      return Scalar(rest);
    if (b == -1)
      overflows = __builtin_sub_overflow(std::int64_t(0), a, &result);
    else // C++ truncates: step down, or up, where the exact quotient is on that side
      result = a / b + (a % b == 0                  ? 0
                        : row.op == ExprOp::CeilDiv ? ((a < 0) == (b < 0) ? 1 : 0)
                                                    : ((a < 0) == (b < 0) ? 0 : -1));
    break;
  }
  case ExprOp::Min:
    return Scalar(std::min(a, b));
  case ExprOp::Max:
    return Scalar(std::max(a, b));
  case ExprOp::Eq:
    return Scalar(std::int64_t(a == b));
  case ExprOp::Ne:
    return Scalar(std::int64_t(a != b));
  case ExprOp::Lt:
    return Scalar(std::int64_t(a < b));
  case ExprOp::Le:
    return Scalar(std::int64_t(a <= b));
  case ExprOp::Gt:
    return Scalar(std::int64_t(a > b));
  case ExprOp::Ge:
    return Scalar(std::int64_t(a >= b));
  default:
    return internalError(fmt::format("{} has no integer form", row.name));
  }
  if (overflows)
    return overflow(row.name, a, b);
  return Scalar(result);
}

Result<Scalar> applyReals(const OpRow &row, double a, double b) {
  auto outside = [&] {
    return invalidArgument(fmt::format("{}({}) is not a real number", row.name, a));
  };
  switch (row.op) {
  case ExprOp::Add:
    return Scalar(a + b);
  case ExprOp::Sub:
    return Scalar(a - b);
  case ExprOp::Mul:
    return Scalar(a * b);
  case ExprOp::FloorDiv:
  case ExprOp::CeilDiv:
  case ExprOp::Mod:
    return invalidArgument(fmt::format("{}({}, {}) needs integers", row.name, a, b));
  case ExprOp::Div:
    if (b == 0)
      return invalidArgument(fmt::format("div({}, 0) divides by zero", a));
    return Scalar(a / b);
  case ExprOp::Min:
    return Scalar(std::fmin(a, b));
  case ExprOp::Max:
    return Scalar(std::fmax(a, b));
  case ExprOp::Sqrt:
    if (!(a >= 0))
      return outside();
    return Scalar(std::sqrt(a));
  case ExprOp::Rsqrt:
    if (!(a > 0))
      return outside();
    return Scalar(1 / std::sqrt(a));
  case ExprOp::Exp:
    return Scalar(std::exp(a));
  case ExprOp::Log:
    if (!(a > 0))
      return outside();
    return Scalar(std::log(a));
  case ExprOp::Pow:
    return Scalar(std::pow(a, b));
  case ExprOp::Eq:
    return Scalar(std::int64_t(a == b));
  case ExprOp::Ne:
    return Scalar(std::int64_t(a != b));
  case ExprOp::Lt:
    return Scalar(std::int64_t(a < b));
  case ExprOp::Le:
    return Scalar(std::int64_t(a <= b));
  case ExprOp::Gt:
    return Scalar(std::int64_t(a > b));
  case ExprOp::Ge:
    return Scalar(std::int64_t(a >= b));
  default:
    return internalError(fmt::format("{} has no real form", row.name));
  }
}

bool worksInReals(ExprOp op) {
  return op == ExprOp::Div || op == ExprOp::Sqrt || op == ExprOp::Rsqrt || op == ExprOp::Exp ||
         op == ExprOp::Log;
}

Result<Scalar> lookUp(const Expr &expr, const Scope &scope) {
  if (expr.op == ExprOp::Multiprocessors) {
    if (scope.multiprocessors)
      return Scalar(*scope.multiprocessors);
    return invalidArgument("the number of multiprocessors is unknown here",
                           "only a program that is loaded on a GPU knows it");
  }
  if (expr.op == ExprOp::Size) {
    auto found = scope.sizes.find(expr.name);
    if (found != scope.sizes.end())
      return Scalar(found->second);
  } else {
    const auto &names = expr.op == ExprOp::Param ? scope.params : scope.lets;
    auto found = names.find(expr.name);
    if (found != names.end())
      return found->second;
  }
  return invalidArgument(fmt::format("{} '{}' is unknown here", leafName(expr.op), expr.name));
}

/// And, Or and Select, whose later operands may be meaningless where an earlier one decides.
Result<Scalar> evaluateLazily(const Expr &expr, const Scope &scope) {
  Result<Scalar> first = evaluate(expr.operands[0], scope);
  if (!first)
    return first;
  bool holds = isTrue(*first);
  if (expr.op == ExprOp::Select)
    return evaluate(expr.operands[holds ? 1 : 2], scope);
  if (holds == (expr.op == ExprOp::Or))
    return Scalar(std::int64_t(holds));
  Result<Scalar> second = evaluate(expr.operands[1], scope);
  return second ? Result<Scalar>(Scalar(std::int64_t(isTrue(*second)))) : second;
}

Result<Scalar> applyOp(const OpRow &row, const Scalar &a, const Scalar &b) {
  if (row.op == ExprOp::Not)
    return Scalar(std::int64_t(!isTrue(a)));
  const auto *left = std::get_if<std::int64_t>(&a);
  const auto *right = std::get_if<std::int64_t>(&b);
  if (row.op == ExprOp::Pow && left && right && *right >= 0)
    return integerPow(*left, *right);
  if (left && right && !worksInReals(row.op) && row.op != ExprOp::Pow)
    return applyIntegers(row, *left, *right);
  return applyReals(row, toReal(a), toReal(b));
}

bool isDeeperThan(const Json &json, int limit) {
  if (!json.is_structured())
    return false;
  return limit == 0 || std::any_of(json.begin(), json.end(),
                                   [&](const Json &item) { return isDeeperThan(item, limit - 1); });
}

/// The JSON as it is quoted in errors.
std::string excerpt(const Json &json) {
  if (isDeeperThan(json, maxExprDepth)) // dump() recurses
    return "something deeply nested";
  // `replace` keeps invalid UTF-8 from raising.
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

Result<Expr> parseAt(const Json &json, int depth) {
  if (depth > maxExprDepth)
    return invalidArgument(fmt::format("expression is nested deeper than {}", maxExprDepth));
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t(INT64_MAX))
    return invalidArgument(fmt::format("integer {} does not fit in 64 bits", excerpt(json)));
  if (json.is_number_integer())
    return Expr::constant(json.get<std::int64_t>());
  if (json.is_number_float())
    return Expr::constant(json.get<double>());
  if (!json.is_array() || json.empty() || !json[0].is_string())
    return invalidArgument(fmt::format("expected an expression, found {}", excerpt(json)));

  const auto &head = json[0].get_ref<const std::string &>();
  for (ExprOp op : {ExprOp::Size, ExprOp::Param, ExprOp::Let}) {
    if (head != leafName(op))
      continue;
    if (json.size() != 2 || !json[1].is_string())
      return invalidArgument(fmt::format("'{}' takes one name, in {}", head, excerpt(json)));
    Expr leaf;
    leaf.op = op;
    leaf.name = json[1].get<std::string>();
    return leaf;
  }
  for (const OpRow &row : ops) {
    if (head != row.name)
      continue;
    if (json.size() != row.arity + 1)
      return invalidArgument(fmt::format("'{}' takes {} operands, not {}, in {}", head, row.arity,
                                         json.size() - 1, excerpt(json)));
    std::vector<Expr> operands;
    for (std::size_t index = 1; index < json.size(); ++index) {
      Result<Expr> operand = parseAt(json[index], depth + 1);
      if (!operand)
        return operand;
      operands.push_back(*std::move(operand));
    }
    return Expr::apply(row.op, std::move(operands));
  }
  return invalidArgument(fmt::format("unknown operation '{}' in {}", head, excerpt(json)));
}

Status checkAt(const Expr &expr, const Scope &scope, int depth) {
  if (depth > maxExprDepth)
    return invalidArgument(fmt::format("expression is nested deeper than {}", maxExprDepth));
  const OpRow *row = findOp(expr.op);
  if (expr.operands.size() != (row ? row->arity : 0))
    return invalidArgument(
        fmt::format("'{}' has {} operands", row ? row->name : "leaf", expr.operands.size()));
  if (expr.op == ExprOp::Real && !std::isfinite(expr.real))
    return invalidArgument("a constant of an expression is not finite");
  if (expr.op == ExprOp::Size || expr.op == ExprOp::Param || expr.op == ExprOp::Let ||
      expr.op == ExprOp::Multiprocessors)
    if (Result<Scalar> found = lookUp(expr, scope); !found)
      return found.error();
  for (const Expr &operand : expr.operands)
    if (Status status = checkAt(operand, scope, depth + 1); !status)
      return status;
  return {};
}

} // namespace

double toReal(const Scalar &value) {
  if (const auto *integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer);
  return std::get<double>(value);
}

bool isTrue(const Scalar &value) {
  if (const auto *integer = std::get_if<std::int64_t>(&value))
    return *integer != 0;
  return std::get<double>(value) != 0;
}

std::string toText(const Scalar &value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

Expr Expr::constant(std::int64_t value) {
  Expr expr;
  expr.integer = value;
  return expr;
}

Expr Expr::constant(double value) {
  Expr expr;
  expr.op = ExprOp::Real;
  expr.real = value;
  return expr;
}

static Expr named(ExprOp op, std::string name) {
  Expr expr;
  expr.op = op;
  expr.name = std::move(name);
  return expr;
}

Expr Expr::size(std::string dim) { return named(ExprOp::Size, std::move(dim)); }
Expr Expr::param(std::string name) { return named(ExprOp::Param, std::move(name)); }
Expr Expr::let(std::string name) { return named(ExprOp::Let, std::move(name)); }

Expr Expr::apply(ExprOp op, std::vector<Expr> operands) {
  Expr expr;
  expr.op = op;
  expr.operands = std::move(operands);
  return expr;
}

bool operator==(const Expr &a, const Expr &b) {
  return a.op == b.op && a.integer == b.integer && a.real == b.real && a.name == b.name &&
         a.operands == b.operands;
}

Result<Scalar> evaluate(const Expr &expr, const Scope &scope) {
  switch (expr.op) {
  case ExprOp::Integer:
    return Scalar(expr.integer);
  case ExprOp::Real:
    return Scalar(expr.real);
  case ExprOp::Size:
  case ExprOp::Param:
  case ExprOp::Let:
  case ExprOp::Multiprocessors:
    return lookUp(expr, scope);
  case ExprOp::And:
  case ExprOp::Or:
  case ExprOp::Select:
    return evaluateLazily(expr, scope);
  default:
    break;
  }
  Result<Scalar> first = evaluate(expr.operands[0], scope);
  if (!first)
    return first;
  if (expr.op == ExprOp::Neg) // 0 - x, which also keeps the sign of a real zero as C++ has it
    return std::holds_alternative<double>(*first)
               ? Result<Scalar>(Scalar(-toReal(*first)))
               : applyOp(*findOp(ExprOp::Sub), Scalar(std::int64_t(0)), *first);
  if (expr.operands.size() == 1)
    return applyOp(*findOp(expr.op), *first, *first);
  Result<Scalar> second = evaluate(expr.operands[1], scope);
  return second ? applyOp(*findOp(expr.op), *first, *second) : second;
}

Result<std::int64_t> evaluateInteger(const Expr &expr, const Scope &scope) {
  Result<Scalar> value = evaluate(expr, scope);
  if (!value)
    return value.error();
  if (const auto *integer = std::get_if<std::int64_t>(&*value))
    return *integer;
  return invalidArgument(fmt::format("expected an integer, found {}", toText(*value)));
}

Result<Expr> parseExpr(const Json &json) { return parseAt(json, 0); }

Json exprToJson(const Expr &expr) {
  switch (expr.op) {
  case ExprOp::Integer:
    return expr.integer;
  case ExprOp::Real:
    return expr.real;
  case ExprOp::Size:
  case ExprOp::Param:
  case ExprOp::Let:
    return Json::array({std::string(leafName(expr.op)), expr.name});
  default:
    break;
  }
  Json list = Json::array({std::string(findOp(expr.op)->name)});
  for (const Expr &operand : expr.operands)
    list.push_back(exprToJson(operand));
  return list;
}

Status checkExpr(const Expr &expr, const Scope &scope) { return checkAt(expr, scope, 0); }

} // namespace attnc
