#pragma once

/// Expressions over the sizes, lets and params of a Program: grid extents, kernel arguments,
/// defaults of params, guards of variants. In JSON: `300`, `0.5`, `["size","j"]`,
/// `["ceildiv",["size","j"],64]`, `["multiprocessors"]`.

#include "attnc/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attnc {

/// Manifests keep their keys in the order in which they are written.
using Json = nlohmann::ordered_json;

/// A value of an expression: a 64-bit integer (also of comparisons: 0 or 1) or a real number.
using Scalar = std::variant<std::int64_t, double>;

double toReal(const Scalar &value);
bool isTrue(const Scalar &value);
/// Shortest text that reads back as the value.
std::string toText(const Scalar &value);

/// The operations. Add to CeilDiv, Min, Max, Neg and Pow of integers are integers (Pow with a
/// negative exponent is real); FloorDiv, Mod and CeilDiv take nothing else. Division rounds towards
/// minus infinity, CeilDiv towards plus infinity, and Mod has the sign of its divisor. And, Or and
/// Select evaluate only the operands that they need.
// clang-format off
enum class ExprOp {
  Integer, Real, Size, Param, Let, Multiprocessors,
  Add, Sub, Mul, FloorDiv, Mod, CeilDiv,
  Div, Min, Max, Neg, Sqrt, Rsqrt, Exp, Log, Pow,
  Eq, Ne, Lt, Le, Gt, Ge, And, Or, Not, Select
};
// clang-format on

/// An expression tree; a plain value.
struct Expr {
  ExprOp op = ExprOp::Integer;
  std::int64_t integer = 0; ///< of Integer
  double real = 0;          ///< of Real; finite
  std::string name;         ///< of Size, Param, Let
  std::vector<Expr> operands;

  static Expr constant(std::int64_t value);
  static Expr constant(int value) { return constant(static_cast<std::int64_t>(value)); }
  static Expr constant(double value);
  static Expr size(std::string dim);
  static Expr param(std::string name);
  static Expr let(std::string name);
  static Expr apply(ExprOp op, std::vector<Expr> operands);

  friend bool operator==(const Expr &a, const Expr &b);
};

/// What the names of an expression stand for.
struct Scope {
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, Scalar> lets;
  std::map<std::string, Scalar> params;
  /// Of the GPU that launches: grids of kernels that stay on it are so many blocks. Nothing where
  /// there is no GPU, or where none is chosen yet.
  std::optional<std::int64_t> multiprocessors = std::nullopt;
};

/// Evaluates `expr`. Errors (InvalidArgument): an unknown name or GPU, overflow of 64 bits,
/// division by zero, the root or logarithm of a number outside its domain, a real where an integer
/// is needed.
Result<Scalar> evaluate(const Expr &expr, const Scope &scope);

/// As evaluate, where only an integer will do.
Result<std::int64_t> evaluateInteger(const Expr &expr, const Scope &scope);

/// The deepest nesting that is read or checked, so that recursion cannot exhaust the stack.
inline constexpr int maxExprDepth = 200;

/// Reads an expression; the error quotes the part that is wrong.
Result<Expr> parseExpr(const Json &json);
Json exprToJson(const Expr &expr);

/// Checks arity, depth, finite constants, and that every name is in `scope` (whose values are
/// unused).
Status checkExpr(const Expr &expr, const Scope &scope);

} // namespace attnc
