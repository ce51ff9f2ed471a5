// Constant folding.
#include "compiler/frontend/program/scalar.h"
#include "dialects/Attn/Random.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <optional>

using namespace mlir;

namespace attnc {

namespace {

std::optional<int64_t> foldInt(ScalarOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
  case ScalarOp::Add:
    return llvm::AddOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case ScalarOp::Sub:
    return llvm::SubOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case ScalarOp::Mul:
    return llvm::MulOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case ScalarOp::Neg:
    return a == INT64_MIN ? std::nullopt : std::optional(-a);
  case ScalarOp::Abs:
    return a == INT64_MIN ? std::nullopt : std::optional(a < 0 ? -a : a);
  case ScalarOp::Min:
    return std::min(a, b);
  case ScalarOp::Max:
    return std::max(a, b);
  case ScalarOp::FloorDiv:
    return b == 0 || (a == INT64_MIN && b == -1) ? std::nullopt
                                                 : std::optional(llvm::divideFloorSigned(a, b));
  case ScalarOp::Mod:
    if (b == 0 || b == -1)
      return b == 0 ? std::nullopt : std::optional<int64_t>(0);
    return a - b * llvm::divideFloorSigned(a, b);
  default:
    return std::nullopt;
  }
}

/// x - y with the rule of attn.sub.
double subtract(double x, double y) { return std::isinf(x) && x < 0 ? x : x - y; }

double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
}
double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

std::optional<double> foldReal(ScalarOp op, double a, double b) {
  switch (op) {
  case ScalarOp::Add:
    return a + b;
  case ScalarOp::Sub:
    return subtract(a, b);
  case ScalarOp::Mul:
    return a * b;
  case ScalarOp::Div:
    return a / b;
  case ScalarOp::Pow:
    return std::pow(a, b);
  case ScalarOp::Neg:
    return -a;
  case ScalarOp::Abs:
    return std::fabs(a);
  case ScalarOp::Min:
    return minimum(a, b);
  case ScalarOp::Max:
    return maximum(a, b);
  case ScalarOp::Exp:
    return std::exp(a);
  case ScalarOp::Exp2:
    return std::exp2(a);
  case ScalarOp::Log:
    return std::log(a);
  case ScalarOp::Log2:
    return std::log2(a);
  case ScalarOp::Sqrt:
    return std::sqrt(a);
  case ScalarOp::Rsqrt:
    return 1 / std::sqrt(a);
  case ScalarOp::Tanh:
    return std::tanh(a);
  case ScalarOp::Erf:
    return std::erf(a);
  case ScalarOp::Floor:
    return std::floor(a);
  default:
    return std::nullopt;
  }
}

template <typename T> std::optional<bool> compare(ScalarOp op, T a, T b) {
  switch (op) {
  case ScalarOp::Lt:
    return a < b;
  case ScalarOp::Le:
    return a <= b;
  case ScalarOp::Gt:
    return a > b;
  case ScalarOp::Ge:
    return a >= b;
  case ScalarOp::Eq:
    return a == b;
  case ScalarOp::Ne:
    return a != b;
  default:
    return std::nullopt;
  }
}

std::optional<bool> foldCondition(ScalarOp op, const Scalar &a, const Scalar &b) {
  if (op == ScalarOp::And)
    return a.integer && b.integer;
  if (op == ScalarOp::Or)
    return a.integer || b.integer;
  if (op == ScalarOp::Not)
    return !a.integer;
  return isFloat(a.type) ? compare(op, a.real, b.real) : compare(op, a.integer, b.integer);
}

} // namespace

/// A choice has the dims of both sides, also where its condition is known: what a label has to name
/// does not depend on static extents.
static bool hasDimsOf(const Scalar *chosen, const Scalar *other) {
  llvm::SmallDenseSet<StringAttr> dims;
  auto typeOf = [](Value array) { return cast<attn::ArrayType>(array.getType()); };
  for (Value array : arraysOf(chosen))
    dims.insert_range(typeOf(array).getDims());
  return llvm::all_of(arraysOf(other), [&](Value array) {
    return llvm::all_of(typeOf(array).getDims(), [&](StringAttr d) { return dims.contains(d); });
  });
}

const Scalar *ScalarFactory::fold(const Scalar &s) {
  const Scalar &a = *s.args.front(), &b = *s.args.back();
  if (s.op == ScalarOp::Where) {
    const Scalar *chosen = s.args[a.integer ? 1 : 2], *other = s.args[a.integer ? 2 : 1];
    return hasDimsOf(chosen, other) ? chosen : nullptr;
  }
  if (s.op == ScalarOp::ToFloat)
    return real(s.loc, a.asReal(), s.type);
  if (s.op == ScalarOp::Rand)
    return real(s.loc,
                attn::uniform(a.integer, s.args[1]->integer, s.args[2]->integer, s.args[3]->integer,
                              b.integer),
                s.type);
  switch (s.type) {
  case ScalarType::Bool:
    if (auto value = foldCondition(s.op, a, b))
      return condition(s.loc, *value);
    return nullptr;
  case ScalarType::Int:
    if (a.type == ScalarType::Int)
      if (auto value = foldInt(s.op, a.integer, b.integer))
        return integer(s.loc, *value);
    return nullptr;
  case ScalarType::F32:
  case ScalarType::F64:
    if (auto value = foldReal(s.op, a.real, b.real))
      return real(s.loc, *value, s.type);
    return nullptr;
  }
  return nullptr;
}

} // namespace attnc
