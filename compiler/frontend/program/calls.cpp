// Functions of scalars; sizes.
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/suggest.h"
#include <numbers>

using namespace mlir;

namespace attnc {

namespace {

/// How a scalar function is built.
enum class Form { Real, Either, Pair, Sigmoid, Silu, Relu, Gelu, Clamp, Xlogy, Where, Cast };

struct Function {
  StringRef name;
  unsigned arity;
  Form form;
  ScalarOp op = ScalarOp::Add;
};

constexpr Function functions[] = {
    {"exp", 1, Form::Real, ScalarOp::Exp},
    {"exp2", 1, Form::Real, ScalarOp::Exp2},
    {"log", 1, Form::Real, ScalarOp::Log},
    {"log2", 1, Form::Real, ScalarOp::Log2},
    {"sqrt", 1, Form::Real, ScalarOp::Sqrt},
    {"rsqrt", 1, Form::Real, ScalarOp::Rsqrt},
    {"tanh", 1, Form::Real, ScalarOp::Tanh},
    {"erf", 1, Form::Real, ScalarOp::Erf},
    {"floor", 1, Form::Real, ScalarOp::Floor},
    {"abs", 1, Form::Either, ScalarOp::Abs},
    {"maximum", 2, Form::Pair, ScalarOp::Max},
    {"minimum", 2, Form::Pair, ScalarOp::Min},
    {"sigmoid", 1, Form::Sigmoid},
    {"silu", 1, Form::Silu},
    {"relu", 1, Form::Relu},
    {"gelu", 1, Form::Gelu},
    {"clamp", 3, Form::Clamp},
    {"xlogy", 2, Form::Xlogy},
    {"where", 3, Form::Where},
    {"cast", 2, Form::Cast},
};

const Function *functionNamed(StringRef name) {
  auto *row = llvm::find_if(functions, [&](const auto &f) { return f.name == name; });
  return row == std::end(functions) ? nullptr : row;
}

} // namespace

ArrayRef<StringRef> functionNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all = {"size", "rand"};
    for (const Function &f : functions)
      all.push_back(f.name);
    llvm::append_range(all, reductionNames());
    return all;
  }();
  return names;
}

bool isFunctionName(StringRef name) { return llvm::is_contained(functionNames(), name); }

const Scalar *ProgramBuilder::evaluateCall(const NameScope &scope, const SyntaxExpr &expr) {
  if (expr.name == "size")
    return sizeOf(scope, expr);
  if (expr.name == "rand")
    return randomNumber(scope, expr);
  if (llvm::is_contained(reductionNames(), expr.name))
    return reduce(scope, expr);
  if (functionNamed(expr.name))
    return callScalar(scope, expr);
  if (Symbol *symbol = lookup(expr.name)) {
    symbol->used = true;
    if (symbol->kind == Symbol::Wrong)
      return scalars.poison(builder.getUnknownLoc());
    return wrong(scope, expr.place, "'" + expr.name + "' is not a function",
                 "write a product with `*`; subscripts are in brackets: " + expr.name + "[...]");
  }
  std::vector<std::string> known;
  for (StringRef name : functionNames())
    known.push_back(name.str());
  return wrong(scope, expr.place, "unknown function '" + expr.name + "'",
               adviceOnName(expr.name, known, "functions are " + llvm::join(known, ", ")));
}

const Scalar *ProgramBuilder::sizeOf(const NameScope &scope, const SyntaxExpr &expr) {
  if (expr.args.size() != 1 || expr.args[0]->kind != SyntaxExpr::Name)
    return wrong(scope, expr.place, "size takes the name of a dim", "for example size(j)");
  const SyntaxExpr &arg = *expr.args[0];
  if (StringAttr dim = dimNamed(arg.name)) {
    if (scope.names == NameScope::Sizes && lookup(arg.name)->lengthText)
      return wrong(scope, expr.place, "size(" + arg.name + ") is known only in the body",
                   "it comes from a tensor; here, " +
                       (lookup(arg.name)->rows
                            ? "size(" + lookup(arg.name)->rows.str() + ") is that of all sequences"
                            : "use what its `max` is computed from"));
    return sizeOfDim(dim, locate(scope, expr.place));
  }
  return unknownName(scope, arg.name, arg.place, /*wantsDim=*/true);
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

const Scalar *ProgramBuilder::castTo(const NameScope &scope, const SyntaxExpr &expr) {
  const Scalar *x = evaluate(scope, *expr.args[0]);
  const SyntaxExpr &name = *expr.args[1];
  if (name.kind != SyntaxExpr::Name)
    return wrong(scope, name.place, "cast takes a value and a type", "for example cast(x, f32)");
  Type storage = requireType(scope.text, {name.name, name.place});
  if (!storage || x->isPoison())
    return scalars.poison(builder.getUnknownLoc());
  Location loc = locate(scope, expr.place);
  ScalarType type = scalarTypeOf(storage);
  if (type == ScalarType::Bool) {
    if (x->type == ScalarType::Bool)
      return x;
    const Scalar *zero = scalars.integer(loc, 0);
    return scalars.operation(loc, ScalarOp::Ne, ScalarType::Bool,
                             {x, isFloat(x->type) ? scalars.toFloat(loc, zero, x->type) : zero});
  }
  if (isFloat(type)) {
    const Scalar *real = scalars.toFloat(loc, x, type);
    bool narrow = storage.getIntOrFloatBitWidth() < 32;
    return narrow ? scalars.operation(loc, ScalarOp::RoundTo, type, {real}, storage) : real;
  }
  const Scalar *whole = x;
  if (x->type == ScalarType::Bool)
    whole = scalars.operation(loc, ScalarOp::Where, ScalarType::Int,
                              {x, scalars.integer(loc, 1), scalars.integer(loc, 0)});
  else if (isFloat(x->type))
    whole = scalars.operation(loc, ScalarOp::ToInt, ScalarType::Int, {x});
  return saturated(loc, whole, storage);
}

/// An integer as a storage type holds it: one that is too large becomes the largest, and so below.
const Scalar *ProgramBuilder::saturated(Location loc, const Scalar *whole, Type storage) {
  unsigned bits = storage.getIntOrFloatBitWidth();
  if (bits == 64)
    return whole;
  bool isUnsigned = storage.isUnsignedInteger();
  int64_t low = isUnsigned ? 0 : llvm::minIntN(bits);
  int64_t high = isUnsigned ? llvm::maxUIntN(bits) : llvm::maxIntN(bits);
  whole =
      scalars.operation(loc, ScalarOp::Max, ScalarType::Int, {whole, scalars.integer(loc, low)});
  return scalars.operation(loc, ScalarOp::Min, ScalarType::Int,
                           {whole, scalars.integer(loc, high)});
}

/// Evaluates the arguments of a function and checks conditions against numbers; `type` becomes the
/// widest type of the numbers. Poison stands for what was wrong.
SmallVector<const Scalar *> ProgramBuilder::arguments(const NameScope &scope,
                                                      const SyntaxExpr &expr, ScalarType &type) {
  bool isWhere = functionNamed(expr.name)->form == Form::Where;
  SmallVector<const Scalar *> args;
  type = ScalarType::Bool;
  for (auto [position, arg] : llvm::enumerate(expr.args)) {
    const Scalar *value = evaluate(scope, *arg);
    args.push_back(value);
    if (value->isPoison())
      continue;
    bool isCondition = isWhere && position == 0;
    if (!isCondition)
      type = std::max(type, value->type);
    // A choice is between two conditions or two numbers; its first side may be either.
    bool mayBeEither = isWhere && position == 1;
    bool wantsBool = isCondition || (isWhere && type == ScalarType::Bool);
    if (!mayBeEither && wantsBool != (value->type == ScalarType::Bool))
      args.back() = wrong(scope, arg->place,
                          expr.name + " takes " + (wantsBool ? "a condition" : "a number") +
                              " here, this is " + typeName(value->type).str(),
                          wantsBool ? "compare it: x != 0" : "where(condition, 1, 0) is a number");
  }
  bool poisoned = llvm::any_of(args, [](const Scalar *arg) { return arg->isPoison(); });
  if (isWhere && !poisoned && (args[1]->type == ScalarType::Bool) != (type == ScalarType::Bool))
    args[1] = wrong(scope, expr.args[1]->place, "where has a condition and a number to choose from",
                    "choose between two numbers, where(c, 1, 0), or between two conditions");
  return args;
}

/// Composes a function of checked arguments that all have `type` (a condition of where apart).
static const Scalar *compose(ScalarFactory &scalars, Location loc, const Function &f,
                             ScalarType type, ArrayRef<const Scalar *> args) {
  auto make = [&](ScalarOp op, ArrayRef<const Scalar *> operands) {
    return scalars.operation(loc, op, type, operands);
  };
  auto number = [&](double value) -> const Scalar * {
    return isFloat(type) ? scalars.real(loc, value, type)
                         : scalars.integer(loc, static_cast<int64_t>(value));
  };
  const Scalar *x = args[0];
  // 1 + exp(-x)
  auto logisticDenominator = [&] {
    return make(ScalarOp::Add, {number(1), make(ScalarOp::Exp, {make(ScalarOp::Neg, {x})})});
  };
  switch (f.form) {
  case Form::Real:
  case Form::Either:
  case Form::Pair:
    return make(f.op, args);
  case Form::Sigmoid:
    return make(ScalarOp::Div, {number(1), logisticDenominator()});
  case Form::Silu:
    return make(ScalarOp::Div, {x, logisticDenominator()});
  case Form::Relu:
    return scalars.extremum(loc, ScalarOp::Max, type, {x, number(0)}, /*tie=*/1);
  case Form::Gelu: {
    const Scalar *erf =
        make(ScalarOp::Erf, {make(ScalarOp::Mul, {x, number(1 / std::numbers::sqrt2)})});
    const Scalar *half = make(ScalarOp::Mul, {number(0.5), x});
    return make(ScalarOp::Mul, {half, make(ScalarOp::Add, {number(1), erf})});
  }
  case Form::Clamp:
    x = scalars.extremum(loc, ScalarOp::Max, type, {x, args[1]}, /*tie=*/0);
    return scalars.extremum(loc, ScalarOp::Min, type, {x, args[2]}, /*tie=*/0);
  case Form::Xlogy: {
    const Scalar *isZero = scalars.operation(loc, ScalarOp::Eq, ScalarType::Bool, {x, number(0)});
    const Scalar *product = make(ScalarOp::Mul, {x, make(ScalarOp::Log, {args[1]})});
    return make(ScalarOp::Where, {isZero, number(0), product});
  }
  case Form::Where:
    return make(ScalarOp::Where, args);
  case Form::Cast:
    break;
  }
  return x;
}

/// How a function is called.
static std::string usage(const Function &f) {
  if (f.name == "maximum" || f.name == "minimum")
    return "write " + f.name.str() + "(a, b); over a dim it is " + f.name.take_front(3).str() +
           "(j, x)";
  StringRef arguments = f.form == Form::Where   ? "condition, a, b"
                        : f.form == Form::Clamp ? "x, low, high"
                        : f.form == Form::Cast  ? "x, f32"
                        : f.arity == 1          ? "x"
                                                : "x, y";
  return "write " + f.name.str() + "(" + arguments.str() + ")";
}

const Scalar *ProgramBuilder::callScalar(const NameScope &scope, const SyntaxExpr &expr) {
  const Function &f = *functionNamed(expr.name);
  if (expr.args.size() != f.arity)
    return wrong(scope, expr.place,
                 expr.name + " takes " + std::to_string(f.arity) +
                     (f.arity == 1 ? " argument, here " : " arguments, here ") +
                     (expr.args.size() == 1 ? "is " : "are ") + std::to_string(expr.args.size()),
                 usage(f));
  if (f.form == Form::Cast)
    return castTo(scope, expr);
  ScalarType type = ScalarType::Bool;
  SmallVector<const Scalar *> args = arguments(scope, expr, type);
  if (llvm::any_of(args, [](const Scalar *arg) { return arg->isPoison(); }))
    return scalars.poison(builder.getUnknownLoc());
  bool keepsIntegers = f.form == Form::Either || f.form == Form::Pair || f.form == Form::Clamp ||
                       f.form == Form::Where || f.form == Form::Relu;
  if (!keepsIntegers)
    type = std::max(type, ScalarType::F32);
  if (isFloat(type))
    for (const Scalar *&arg : args)
      if (arg->type != ScalarType::Bool)
        arg = scalars.toFloat(arg->loc, arg, type);
  return compose(scalars, locate(scope, expr.place), f, type, args);
}

} // namespace attnc
