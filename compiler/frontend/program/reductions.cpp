// Reductions over dims, whose extents may be lengths that differ along each other.
#include "compiler/frontend/program/program_builder.h"

using namespace mlir;

namespace attnc {

enum class Reduction { Sum, Prod, Max, Min, All, Any, Mean, LogSumExp, Softmax };

namespace {

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

ArrayRef<StringRef> reductionNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all;
    for (const ReductionRow &r : reductions)
      all.push_back(r.name);
    return all;
  }();
  return names;
}

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

  // A mean over lengths divides by a sum of them.
  bool countsLengths = kind == Reduction::Mean && llvm::any_of(*dims, [&](StringAttr dim) {
                         return lengthOf(dim) != nullptr;
                       });
  Reduction folded = countsLengths ? Reduction::Sum : kind;
  llvm::SmallDenseSet<StringAttr> kept;
  Location operandLoc = locate(scope, expr.args[1]->place);
  operand = keepWithinLengths(operand, *dims, identityOf(kind), kept, operandLoc);
  auto [present, missing] = dividedByUse(operand, *dims);
  if (kind == Reduction::Softmax && !missing.empty())
    return wrong(scope, expr.args[0]->place,
                 "the operand of softmax has no dim '" + missing[0].str() + "'",
                 "softmax keeps its dims: it needs an operand over them");
  for (StringAttr dim : missing)
    warnAboutMissing(scope, expr, dim);
  SmallVector<StringAttr> left = *dims;
  operand = reduceDependents(folded, operand, left, kept, operandLoc);
  std::tie(present, missing) = dividedByUse(operand, left);
  const Scalar *result = operand;
  if (!present.empty())
    result =
        reduceArray(folded, locate(scope, expr.place), materialise(operandLoc, operand), present);
  if (countsLengths) {
    SmallVector<StringAttr> counted = llvm::filter_to_vector(
        *dims, [&](StringAttr dim) { return !llvm::is_contained(missing, dim); });
    Location loc = locate(scope, expr.place);
    result =
        scalars.operation(loc, ScalarOp::Div, operand->type,
                          {result, scalars.toFloat(loc, numberOf(counted, loc), operand->type)});
  }
  for (StringAttr dim : missing)
    result = reduceMissing(kind, result, dim, locate(scope, expr.place));
  return result;
}

/// The dims that an operand has, and those that it lacks.
std::pair<SmallVector<StringAttr>, SmallVector<StringAttr>>
ProgramBuilder::dividedByUse(const Scalar *operand, ArrayRef<StringAttr> dims) {
  SmallVector<StringAttr> free = attn::unionDims(program, arraysOf(operand));
  SmallVector<StringAttr> present, missing;
  for (StringAttr dim : dims)
    (llvm::is_contained(free, dim) ? present : missing).push_back(dim);
  return {present, missing};
}

void ProgramBuilder::warnAboutMissing(const NameScope &scope, const SyntaxExpr &expr,
                                      StringAttr dim) {
  warn(
      scope.text.at(expr.args[0]->place,
                    "the operand of " + expr.name + " does not have the dim '" + dim.str() + "'",
                    expr.name == "sum"
                        ? "the sum multiplies by size(" + dim.str() + "): write that if it is meant"
                        : "every element along it is the same: leave the reduction out"));
}

/// Reduces over the dims that the operand lacks and whose length differs along others of `dims`;
/// takes them out of `dims`. What is left then has dims of its own to reduce over, or sizes that
/// are the same everywhere.
const Scalar *ProgramBuilder::reduceDependents(Reduction kind, const Scalar *operand,
                                               SmallVectorImpl<StringAttr> &dims,
                                               llvm::SmallDenseSet<StringAttr> &kept,
                                               Location loc) {
  SmallVector<StringAttr> all(dims.begin(), dims.end());
  for (;;) {
    SmallVector<StringAttr> missing = dividedByUse(operand, dims).second;
    // One along which no other length differs comes first.
    auto *next = llvm::find_if(missing, [&](StringAttr dim) {
      return lengthDiffersAlong(dim, dims) &&
             llvm::none_of(missing, [&](StringAttr d) { return lengthDiffersAlong(d, {dim}); });
    });
    if (next == missing.end())
      return operand;
    operand = reduceMissing(kind, operand, *next, loc);
    operand = keepWithinLengths(operand, all, identityOf(kind), kept, loc);
    llvm::erase(dims, *next);
  }
}

bool ProgramBuilder::lengthDiffersAlong(StringAttr dim, ArrayRef<StringAttr> dims) {
  const Scalar *length = lengthOf(dim);
  return length && llvm::any_of(cast<attn::ArrayType>(length->array.getType()).getDims(),
                                [&](StringAttr d) { return llvm::is_contained(dims, d); });
}

/// How many tuples of indices within their lengths the dims have: the sum of 1 over them.
const Scalar *ProgramBuilder::numberOf(SmallVector<StringAttr> dims, Location loc) {
  const Scalar *number = scalars.integer(loc, 1);
  llvm::SmallDenseSet<StringAttr> kept;
  while (!dims.empty()) {
    // Lengths are not cyclic, so there is one along which no other length differs.
    auto *next = llvm::find_if(dims, [&](StringAttr dim) {
      return llvm::none_of(dims, [&](StringAttr d) { return lengthDiffersAlong(d, {dim}); });
    });
    StringAttr dim = *next;
    dims.erase(next);
    if (dividedByUse(number, {dim}).first.empty()) {
      number =
          scalars.operation(loc, ScalarOp::Mul, ScalarType::Int, {number, sizeOfDim(dim, loc)});
      continue;
    }
    number = keepWithinLengths(number, {dim}, 0, kept, loc);
    number = reduceArray(Reduction::Sum, loc, materialise(loc, number), {dim});
  }
  return number;
}

const Scalar *ProgramBuilder::reduceArray(Reduction kind, Location loc, Value array,
                                          ArrayRef<StringAttr> dims) {
  auto type = cast<attn::ArrayType>(array.getType());
  SmallVector<Attribute> attributes(dims.begin(), dims.end());
  ArrayAttr over = builder.getArrayAttr(attributes);
  if (kind == Reduction::Softmax) {
    Value weights = attn::SoftmaxOp::create(builder, loc, type, over, array);
    for (StringAttr dim : dims)
      if (lengthOf(dim))
        vanishing.insert({weights, dim});
    return scalars.array(loc, weights);
  }
  SmallVector<StringAttr> free;
  for (StringAttr dim : type.getDims())
    if (!llvm::is_contained(dims, dim))
      free.push_back(dim);
  auto result = attn::ArrayType::get(&context, free, type.getElementType());
  return scalars.array(loc,
                       attn::ReduceOp::create(builder, loc, result, reduceKind(kind), over, array));
}

/// A reduction over a dim that the operand does not have: size(dim) equal elements, or nothing.
const Scalar *ProgramBuilder::reduceMissing(Reduction kind, const Scalar *value, StringAttr dim,
                                            Location loc) {
  const Scalar *size = sizeOfDim(dim, loc);
  if (kind == Reduction::Sum && value->type == ScalarType::Int)
    return scalars.operation(loc, ScalarOp::Mul, value->type, {value, size});
  double ofNothing =
      kind == Reduction::Mean ? std::numeric_limits<double>::quiet_NaN() : identityOf(kind);
  if (kind == Reduction::Prod)
    value = scalars.toFloat(loc, value, std::max(value->type, ScalarType::F32));
  ScalarType type = value->type;
  auto sized = [&](ScalarOp op, const Scalar *count) {
    return scalars.operation(loc, op, type, {value, count});
  };
  if (kind == Reduction::Sum)
    value = sized(ScalarOp::Mul, scalars.toFloat(loc, size, type));
  else if (kind == Reduction::Prod)
    value = sized(ScalarOp::Pow, scalars.toFloat(loc, size, type));
  else if (kind == Reduction::LogSumExp)
    value = sized(ScalarOp::Add,
                  scalars.operation(loc, ScalarOp::Log, type, {scalars.toFloat(loc, size, type)}));
  const Scalar *any =
      scalars.operation(loc, ScalarOp::Gt, ScalarType::Bool, {size, scalars.integer(loc, 0)});
  return scalars.operation(loc, ScalarOp::Where, type,
                           {any, value, extremeOrNumber(ofNothing, type, loc)});
}

} // namespace attnc
