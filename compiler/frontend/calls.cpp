// Functions and reductions.
#include "compiler/frontend/program_builder.h"
#include "compiler/frontend/suggest.h"
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

enum class Reduction { Sum, Prod, Max, Min, All, Any, Mean, LogSumExp, Softmax };

struct ReductionRow {
  StringRef name;
  Reduction kind;
};

constexpr ReductionRow reductions[] = {
    {"sum", Reduction::Sum},         {"prod", Reduction::Prod},
    {"max", Reduction::Max},         {"min", Reduction::Min},
    {"all", Reduction::All},         {"any", Reduction::Any},
    {"mean", Reduction::Mean},       {"logsumexp", Reduction::LogSumExp},
    {"softmax", Reduction::Softmax},
};

const ReductionRow *reductionNamed(StringRef name) {
  auto *row = llvm::find_if(reductions, [&](const auto &r) { return r.name == name; });
  return row == std::end(reductions) ? nullptr : row;
}

const Function *functionNamed(StringRef name) {
  auto *row = llvm::find_if(functions, [&](const auto &f) { return f.name == name; });
  return row == std::end(functions) ? nullptr : row;
}

attn::ReduceKind reduceKind(Reduction r) {
  switch (r) {
  case Reduction::Sum:
    return attn::ReduceKind::Add;
  case Reduction::Prod:
    return attn::ReduceKind::Mul;
  case Reduction::Max:
    return attn::ReduceKind::Max;
  case Reduction::Min:
    return attn::ReduceKind::Min;
  case Reduction::All:
    return attn::ReduceKind::And;
  case Reduction::Any:
    return attn::ReduceKind::Or;
  case Reduction::Mean:
    return attn::ReduceKind::Mean;
  case Reduction::LogSumExp:
  case Reduction::Softmax:
    return attn::ReduceKind::LogSumExp;
  }
  return attn::ReduceKind::Add;
}

/// What an element holds that counts for nothing.
double identityOf(Reduction r) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (r) {
  case Reduction::Prod:
  case Reduction::All:
    return 1;
  case Reduction::Max:
  case Reduction::LogSumExp:
  case Reduction::Softmax:
    return -infinity;
  case Reduction::Min:
    return infinity;
  default:
    return 0;
  }
}

} // namespace

ArrayRef<StringRef> functionNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all = {"size", "rand"};
    for (const Function &f : functions)
      all.push_back(f.name);
    for (const ReductionRow &r : reductions)
      all.push_back(r.name);
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
  if (reductionNamed(expr.name))
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
                   "it comes from a tensor; here, use what its `max` is computed from");
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
    return make(ScalarOp::Max, {x, number(0)});
  case Form::Gelu: {
    const Scalar *erf =
        make(ScalarOp::Erf, {make(ScalarOp::Mul, {x, number(1 / std::numbers::sqrt2)})});
    const Scalar *half = make(ScalarOp::Mul, {number(0.5), x});
    return make(ScalarOp::Mul, {half, make(ScalarOp::Add, {number(1), erf})});
  }
  case Form::Clamp:
    return make(ScalarOp::Min, {make(ScalarOp::Max, {x, args[1]}), args[2]});
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

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::optional<SmallVector<StringAttr>> ProgramBuilder::reducedDims(const NameScope &scope,
                                                                   const SyntaxExpr &list) {
  SmallVector<const SyntaxExpr *> names;
  if (list.kind == SyntaxExpr::Tuple)
    for (const ExprPtr &element : list.args)
      names.push_back(element.get());
  else
    names.push_back(&list);
  SmallVector<StringAttr> dims;
  for (const SyntaxExpr *name : names) {
    if (name->kind != SyntaxExpr::Name) {
      report(scope, name->place, "a reduction takes a dim, or a tuple of dims, first",
             "for example sum(j, x) or sum((j, t), x); of two values, maximum(a, b)");
      return std::nullopt;
    }
    StringAttr dim = dimNamed(name->name);
    Symbol *other = dim ? nullptr : lookup(name->name);
    if (other && other->kind != Symbol::Wrong) {
      report(scope, name->place, "'" + name->name + "' is not a dim",
             "a reduction takes a dim first: sum(j, x); of two values, maximum(a, b)");
      return std::nullopt;
    }
    if (!dim) {
      unknownName(scope, name->name, name->place, /*wantsDim=*/true);
      return std::nullopt;
    }
    if (llvm::is_contained(dims, dim)) {
      report(scope, name->place, "the dim '" + name->name + "' is reduced twice", "name it once");
      return std::nullopt;
    }
    dims.push_back(dim);
  }
  return dims;
}

const Scalar *ProgramBuilder::reduce(const NameScope &scope, const SyntaxExpr &expr) {
  if (scope.names == NameScope::Sizes)
    return wrong(scope, expr.place, "reductions belong into the body",
                 "here only sizes, lets and scalar functions can be used");
  if (expr.args.size() != 2)
    return wrong(scope, expr.place,
                 expr.name + " takes a dim (or a tuple of dims) and a value, here " +
                     (expr.args.size() == 1
                          ? "is 1 argument"
                          : "are " + std::to_string(expr.args.size()) + " arguments"),
                 "for example " + expr.name + "(j, x)");
  auto dims = reducedDims(scope, *expr.args[0]);
  const Scalar *operand = evaluate(scope, *expr.args[1]);
  if (!dims || operand->isPoison())
    return scalars.poison(builder.getUnknownLoc());
  Reduction kind = reductionNamed(expr.name)->kind;
  bool logical = kind == Reduction::All || kind == Reduction::Any;
  if (logical != (operand->type == ScalarType::Bool))
    return wrong(scope, expr.args[1]->place,
                 expr.name +
                     (logical ? " takes a condition, this is " : " takes numbers, this is ") +
                     typeName(operand->type).str(),
                 logical ? "compare it: x != 0" : "count with sum(j, where(condition, 1, 0))");
  bool real = kind == Reduction::Mean || kind == Reduction::LogSumExp || kind == Reduction::Softmax;
  if (real && !isFloat(operand->type))
    operand = scalars.toFloat(operand->loc, operand, ScalarType::F32);

  operand = keepWithinLengths(operand, *dims, identityOf(kind), locate(scope, expr.args[1]->place));
  SmallVector<Value> arrays = arraysOf(operand);
  SmallVector<StringAttr> free = attn::unionDims(program, arrays);
  SmallVector<StringAttr> present, missing;
  for (StringAttr dim : *dims)
    (llvm::is_contained(free, dim) ? present : missing).push_back(dim);
  if (kind == Reduction::Softmax && !missing.empty())
    return wrong(scope, expr.args[0]->place,
                 "the operand of softmax has no dim '" + missing[0].str() + "'",
                 "softmax keeps its dims: it needs an operand over them");
  const Scalar *result = operand;
  if (!present.empty())
    result = reduceArray(scope, expr, operand, present);
  for (StringAttr dim : missing) {
    Diagnostic d = scope.text.at(
        expr.args[0]->place,
        "the operand of " + expr.name + " does not have the dim '" + dim.str() + "'",
        kind == Reduction::Sum
            ? "the sum multiplies by size(" + dim.str() + "): write that if it is meant"
            : "every element along it is the same: leave the reduction out");
    d.severity = Diagnostic::Warning;
    report(std::move(d));
    result = reduceMissing(scope, expr, result, dim);
  }
  return result;
}

const Scalar *ProgramBuilder::reduceArray(const NameScope &scope, const SyntaxExpr &expr,
                                          const Scalar *operand, ArrayRef<StringAttr> dims) {
  Location loc = locate(scope, expr.place);
  Value array = materialise(locate(scope, expr.args[1]->place), operand);
  auto type = cast<attn::ArrayType>(array.getType());
  SmallVector<Attribute> attributes(dims.begin(), dims.end());
  ArrayAttr over = builder.getArrayAttr(attributes);
  Reduction kind = reductionNamed(expr.name)->kind;
  if (kind == Reduction::Softmax) {
    Value weights = attn::SoftmaxOp::create(builder, loc, type, over, array);
    for (StringAttr dim : dims)
      if (lengthOf(dim))
        vanishing.insert({weights, dim});
    return scalars.array(loc, weights);
  }
  SmallVector<StringAttr> kept;
  for (StringAttr dim : type.getDims())
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  auto result = attn::ArrayType::get(&context, kept, type.getElementType());
  bool countsLengths = kind == Reduction::Mean &&
                       llvm::any_of(dims, [&](StringAttr dim) { return lengthOf(dim) != nullptr; });
  Value reduced = attn::ReduceOp::create(
      builder, loc, result, countsLengths ? attn::ReduceKind::Add : reduceKind(kind), over, array);
  if (!countsLengths)
    return scalars.array(loc, reduced);
  const Scalar *count = scalars.integer(loc, 1);
  for (StringAttr dim : dims)
    count = scalars.operation(loc, ScalarOp::Mul, ScalarType::Int, {count, sizeOfDim(dim, loc)});
  return scalars.operation(
      loc, ScalarOp::Div, operand->type,
      {scalars.array(loc, reduced), scalars.toFloat(loc, count, operand->type)});
}

/// A reduction over a dim that the operand does not have: size(dim) equal elements.
const Scalar *ProgramBuilder::reduceMissing(const NameScope &scope, const SyntaxExpr &expr,
                                            const Scalar *value, StringAttr dim) {
  Location loc = locate(scope, expr.place);
  const Scalar *size = sizeOfDim(dim, loc);
  auto sized = [&](ScalarOp op, ScalarType type, const Scalar *count) {
    return scalars.operation(loc, op, type, {value, scalars.toFloat(loc, count, type)});
  };
  switch (reductionNamed(expr.name)->kind) {
  case Reduction::Sum:
    if (value->type == ScalarType::Int)
      return scalars.operation(loc, ScalarOp::Mul, value->type, {value, size});
    return sized(ScalarOp::Mul, value->type, size);
  case Reduction::Prod: {
    ScalarType type = std::max(value->type, ScalarType::F32);
    value = scalars.toFloat(loc, value, type);
    return sized(ScalarOp::Pow, type, size);
  }
  case Reduction::LogSumExp: {
    const Scalar *count = scalars.toFloat(loc, size, value->type);
    return sized(ScalarOp::Add, value->type,
                 scalars.operation(loc, ScalarOp::Log, value->type, {count}));
  }
  default:
    return value;
  }
}

} // namespace attnc
