// Reads of inputs and of labelled results, and the proof that their subscripts stay inside.
#include "compiler/frontend/program/program_builder.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"

using namespace mlir;

namespace attnc {

/// A read of a whole array, each dim at its own index.
Value ProgramBuilder::plainRead(Location loc, Value source, StringRef name) {
  auto type = cast<attn::ArrayType>(source.getType());
  bool bounded = hasLengths(source); // may read an array itself
  Value &read = reads[source];
  if (!read && bounded) {
    Subscripts subscripts;
    for (StringAttr axis : type.getDims())
      subscripts[indexDim(axis)].dim = indexDim(axis);
    read = readAt(attn::renamed(loc, name), source, subscripts, std::nullopt)->array;
  } else if (!read) {
    SmallVector<Attribute> subscripts(type.getDims().begin(), type.getDims().end());
    read =
        attn::ReadOp::create(builder, attn::renamed(loc, name),
                             arrayType(type.getDims(), scalarTypeOf(type.getElementType())), source,
                             ValueRange{}, builder.getArrayAttr(subscripts), FloatAttr());
  }
  return read;
}

const Scalar *ProgramBuilder::readWhole(const NameScope &scope, const SyntaxExpr &expr,
                                        const Symbol &symbol) {
  Location loc = locate(scope, expr.place);
  if (symbol.kind == Symbol::Input)
    return scalars.array(loc, plainRead(loc, symbol.array, expr.name));
  return symbol.value;
}

static std::string spellAxes(StringRef name, ArrayRef<StringAttr> axes) {
  std::string text = name.str() + "[";
  for (auto [i, axis] : llvm::enumerate(axes))
    text += (i ? ", " : "") + axis.str();
  return text + "]";
}

/// Reports what makes a read wrong before its subscripts are looked at.
bool ProgramBuilder::checkRead(const NameScope &scope, const SyntaxExpr &expr,
                               const Symbol &symbol) {
  auto fail = [&](std::string message, std::string remedy) {
    report(scope, expr.place, std::move(message), std::move(remedy));
    return false;
  };
  std::string name = "'" + expr.name + "'";
  if (symbol.kind != Symbol::Input && symbol.kind != Symbol::Result)
    return fail(name + " has no subscripts", isFunctionName(expr.name)
                                                 ? "a function is called: " + expr.name + "(...)"
                                                 : "inputs and labelled results have");
  if (scope.names == NameScope::Sizes)
    return fail(name + " has no value here", "only sizes and lets can be used");
  if (symbol.kind == Symbol::Result && !symbol.labelled)
    return fail(name + " is read with subscripts but has no label",
                "label its statement: " + spellAxes(expr.name, symbol.axes) + " = ...");
  if (expr.args.size() != symbol.axes.size())
    return fail(name + " has " + std::to_string(symbol.axes.size()) + " dims, here " +
                    (expr.args.size() == 1
                         ? "is 1 subscript"
                         : "are " + std::to_string(expr.args.size()) + " subscripts"),
                "it is " + spellAxes(expr.name, symbol.axes));
  return true;
}

/// Evaluates the subscript of one axis; nothing if it was wrong.
std::optional<ProgramBuilder::Subscript> ProgramBuilder::evaluateSubscript(const NameScope &scope,
                                                                           const SyntaxExpr &read,
                                                                           const SyntaxExpr &arg,
                                                                           StringAttr axis) {
  Subscript subscript;
  subscript.dim = arg.kind == SyntaxExpr::Name ? dimNamed(arg.name) : StringAttr();
  if (subscript.dim == axis)
    return subscript;
  const Scalar *value = evaluate(scope, arg);
  if (!value->isPoison() && value->type != ScalarType::Int)
    value =
        wrong(scope, arg.place, "a subscript is an integer, this is " + typeName(value->type).str(),
              value->type == ScalarType::Bool ? "where(condition, 1, 0) is an integer"
                                              : "divide with `//`, or convert: cast(x, i64)");
  if (value->isPoison() || !checkSubscript(scope, read, arg, axis, value, subscript))
    return std::nullopt;
  if (!subscript.dim)
    subscript.value = materialise(locate(scope, arg.place), value);
  return subscript;
}

const Scalar *ProgramBuilder::evaluateRead(const NameScope &scope, const SyntaxExpr &expr) {
  Symbol *found = lookup(expr.name);
  if (!found && !isFunctionName(expr.name))
    return unknownName(scope, expr.name, expr.place);
  Symbol function;
  function.kind = Symbol::Dim; // has no subscripts either
  const Symbol symbol = found ? *found : function;
  if (found)
    found->used = true;
  if (symbol.kind == Symbol::Wrong || refusedNames.contains(expr.name) ||
      !checkRead(scope, expr, symbol))
    return scalars.poison(builder.getUnknownLoc());

  bool valid = true, inside = true, whole = true, checked = false;
  llvm::SmallDenseMap<StringAttr, Subscript> subscripts;
  for (auto [axis, arg] : llvm::zip_equal(symbol.axes, expr.args)) {
    std::optional<Subscript> subscript = evaluateSubscript(scope, expr, *arg, axis);
    valid &= subscript.has_value();
    if (!subscript)
      continue;
    inside &= subscript->inside;
    whole &= subscript->dim == axis;
    checked |= bool(subscript->checked);
    subscripts[axis] = *subscript;
  }
  bool isConstant = symbol.value && symbol.value->isConstant();
  Value source = symbol.array ? symbol.array : isConstant ? Value() : symbol.value->array;
  ScalarType element = source
                           ? scalarTypeOf(cast<attn::ArrayType>(source.getType()).getElementType())
                           : symbol.value->type;
  std::optional<double> otherwise;
  if (expr.otherwise) {
    otherwise = otherwiseValue(scope, expr, element);
    valid &= otherwise.has_value();
  } else if (checked) {
    otherwise = 0;
  }
  if (!valid)
    return scalars.poison(builder.getUnknownLoc());
  bool bounded = source && hasLengths(source);
  if (whole && !(bounded && otherwise))
    return readWhole(scope, expr, symbol);
  return readAt(locate(scope, expr.place, expr.name), source, subscripts,
                inside && !bounded ? std::nullopt : otherwise);
}

/// Builds the read of `source` at one subscript for each of its dims.
const Scalar *ProgramBuilder::readAt(Location loc, Value source,
                                     const llvm::SmallDenseMap<StringAttr, Subscript> &subscripts,
                                     std::optional<double> otherwise) {
  auto type = cast<attn::ArrayType>(source.getType());
  Subscripts kept;
  for (StringAttr axis : type.getDims())
    kept[axis] = subscripts.find(indexDim(axis))->second;
  bool bounded = keepWithinLengths(loc, source, kept);
  if (bounded)
    otherwise = otherwise.value_or(0);
  SmallVector<Attribute> names, checked;
  SmallVector<Value> values;
  SmallVector<StringAttr> dims;
  for (StringAttr axis : type.getDims()) {
    const Subscript &subscript = kept.find(axis)->second;
    checked.push_back(subscript.checked ? subscript.checked : builder.getStringAttr(""));
    names.push_back(subscript.dim ? subscript.dim : builder.getStringAttr(""));
    if (subscript.dim) {
      dims.push_back(subscript.dim);
      continue;
    }
    values.push_back(subscript.value);
    llvm::append_range(dims, cast<attn::ArrayType>(subscript.value.getType()).getDims());
  }
  ScalarType element = scalarTypeOf(type.getElementType());
  auto read = attn::ReadOp::create(builder, loc, arrayType(dims, element), source, values,
                                   builder.getArrayAttr(names),
                                   otherwise ? builder.getF64FloatAttr(*otherwise) : FloatAttr());
  // What is beyond a length is left out on purpose: no finding of a check of subscripts.
  if (bounded || llvm::any_of(kept, [](auto &entry) { return bool(entry.second.checked); }))
    read->setAttr(attn::kCheckedAttr, builder.getArrayAttr(checked));
  if (otherwise && *otherwise == 0)
    for (StringAttr axis : type.getDims())
      if (StringAttr dim = subscripts.find(indexDim(axis))->second.dim;
          dim == indexDim(axis) && !kept.find(axis)->second.dim)
        vanishing.insert({read, dim});
  return scalars.array(loc, read);
}

std::optional<double> ProgramBuilder::otherwiseValue(const NameScope &scope, const SyntaxExpr &read,
                                                     ScalarType type) {
  const Scalar *value = evaluate(scope, *read.otherwise);
  if (value->isPoison())
    return std::nullopt;
  bool fits = value->isConstant() && value->type != ScalarType::Bool &&
              (isFloat(type) || value->type == ScalarType::Int);
  if (type == ScalarType::Bool)
    fits &= value->integer == 0 || value->integer == 1;
  if (fits)
    return value->asReal();
  report(scope, read.otherwise->place,
         "the `else` value is " +
             (value->isConstant() ? typeName(value->type).str() : std::string("not a constant")) +
             ", the array holds " +
             (type == ScalarType::Bool  ? "conditions (0 or 1)"
              : type == ScalarType::Int ? "integers"
                                        : "real numbers"),
         type == ScalarType::Bool || value->isConstant()
             ? "for example `else 0`"
             : "write a number: `else 0`; what varies is chosen by where(condition, a, b)");
  return std::nullopt;
}

/// Finds out whether one subscript is proven to stay within its axis, is checked when the program
/// runs, or is covered by the `else`. Returns false if it was an error.
bool ProgramBuilder::checkSubscript(const NameScope &scope, const SyntaxExpr &read,
                                    const SyntaxExpr &arg, StringAttr axis, const Scalar *&value,
                                    Subscript &subscript) {
  std::optional<Polynomial> last = Polynomial::subtract(sizePolynomial(axis), Polynomial(1));
  bool above = intervals.provesAtLeast(value, Polynomial(0));
  bool below = last && intervals.provesAtMost(value, *last);
  bool mayWrap = subscriptArithmetic.mayWrap(value);
  bool measured = subscriptArithmetic.isMeasured(value);
  // The proof counts with integers that have no end. Sizes keep to it: what is within an axis
  // multiplies to no more than a tensor holds.
  subscript.inside = above && below && !(mayWrap && measured);
  if (subscript.inside)
    return true;
  bool fromData = intervals.interval(value).fromData || (mayWrap && measured);
  if (!fromData && !read.otherwise)
    return refuseSubscript(scope, read, arg, axis, value, above, below);
  if (mayWrap)
    value = subscriptArithmetic.checked(value);
  if (fromData)
    subscript.checked = builder.getStringAttr(scope.quote(arg));
  return true;
}

} // namespace attnc
