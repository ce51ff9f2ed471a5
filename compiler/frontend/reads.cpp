// Reads of inputs and of labelled results, and the proof that their subscripts stay inside.
#include "compiler/frontend/program_builder.h"
#include "dialects/Attn/SpecLocation.h"

using namespace mlir;

namespace attnc {

/// A read of a whole array, each dim at its own index.
Value ProgramBuilder::plainRead(Location loc, Value source, StringRef name) {
  Value &read = reads[source];
  if (!read) {
    auto type = cast<attn::ArrayType>(source.getType());
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
    return fail(name + " has no subscripts", "inputs and labelled results have");
  if (scope.names == NameScope::Sizes)
    return fail(name + " has no value here", "only sizes and lets can be used");
  if (symbol.kind == Symbol::Result && !symbol.labelled)
    return fail(name + " is read with subscripts but has no label",
                "label its statement: " + spellAxes(expr.name, symbol.axes) + " = ...");
  if (expr.args.size() != symbol.axes.size())
    return fail(name + " has " + std::to_string(symbol.axes.size()) + " dims, here are " +
                    std::to_string(expr.args.size()) + " subscripts",
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
    value = wrong(scope, arg.place,
                  "a subscript is an integer, this is " + typeName(value->type).str());
  if (value->isPoison() || !checkSubscript(scope, read, arg, axis, value, subscript.inside))
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
  if (symbol.kind == Symbol::Wrong || !checkRead(scope, expr, symbol))
    return scalars.poison(builder.getUnknownLoc());

  bool valid = true, inside = true, whole = true;
  llvm::SmallDenseMap<StringAttr, Subscript> subscripts;
  for (auto [axis, arg] : llvm::zip_equal(symbol.axes, expr.args)) {
    std::optional<Subscript> subscript = evaluateSubscript(scope, expr, *arg, axis);
    valid &= subscript.has_value();
    if (!subscript)
      continue;
    inside &= subscript->inside;
    whole &= subscript->dim == axis;
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
  }
  if (!valid)
    return scalars.poison(builder.getUnknownLoc());
  if (whole)
    return readWhole(scope, expr, symbol);
  return readAt(locate(scope, expr.place, expr.name), source, subscripts,
                inside ? std::nullopt : otherwise);
}

/// Builds the read of `source` at one subscript for each of its dims.
const Scalar *ProgramBuilder::readAt(Location loc, Value source,
                                     const llvm::SmallDenseMap<StringAttr, Subscript> &subscripts,
                                     std::optional<double> otherwise) {
  auto type = cast<attn::ArrayType>(source.getType());
  SmallVector<Attribute> names;
  SmallVector<Value> values;
  SmallVector<StringAttr> dims;
  for (StringAttr axis : type.getDims()) {
    const Subscript &subscript = subscripts.find(axis)->second;
    names.push_back(subscript.dim ? subscript.dim : builder.getStringAttr(""));
    if (subscript.dim) {
      dims.push_back(subscript.dim);
      continue;
    }
    values.push_back(subscript.value);
    llvm::append_range(dims, cast<attn::ArrayType>(subscript.value.getType()).getDims());
  }
  ScalarType element = scalarTypeOf(type.getElementType());
  Value read = attn::ReadOp::create(builder, loc, arrayType(dims, element), source, values,
                                    builder.getArrayAttr(names),
                                    otherwise ? builder.getF64FloatAttr(*otherwise) : FloatAttr());
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
                                        : "real numbers"));
  return std::nullopt;
}

/// Checks one subscript; `inside` says whether it is proven to stay within the axis. Returns false
/// if it was an error.
bool ProgramBuilder::checkSubscript(const NameScope &scope, const SyntaxExpr &read,
                                    const SyntaxExpr &subscript, StringAttr axis,
                                    const Scalar *value, bool &inside) {
  Interval interval = intervals.interval(value);
  if (interval.fromData) {
    report(scope, subscript.begin, "a subscript that comes from data is not supported yet");
    return false;
  }
  Polynomial size = sizePolynomial(axis);
  std::optional<Polynomial> last = Polynomial::subtract(size, Polynomial(1));
  bool above = intervals.provesAtLeast(value, Polynomial(0));
  bool below = last && intervals.provesAtMost(value, *last);
  inside = above && below;
  if (inside || read.otherwise)
    return true;

  std::string text = "`" + scope.text.text().slice(subscript.begin, subscript.end).str() + "`";
  std::string message = "cannot show that the subscript " + text + " stays inside '" + axis.str() +
                        "' of " + read.name + ":";
  std::string fact;
  auto require = [&](const Polynomial &low, const Polynomial &high) {
    auto room = Polynomial::subtract(facts.normalise(high), facts.normalise(low));
    if (room && !room->constant())
      fact += (fact.empty() ? "" : "\" and \"") + facts.print(low) + " <= " + facts.print(high);
  };
  if (!above) {
    message += " it may be below 0";
    if (!interval.lower.empty()) {
      message += " (its least value is " + facts.print(interval.lower[0]) + ")";
      require(Polynomial(0), interval.lower[0]);
    }
  }
  if (!below) {
    message += std::string(above ? "" : " and") + " it may reach size(" + axis.str() + ")";
    if (size.constant())
      message += " = " + std::to_string(*size.constant());
    if (!interval.upper.empty()) {
      message += " (its greatest value is " + facts.print(interval.upper[0]) + ")";
      if (auto end = Polynomial::add(interval.upper[0], Polynomial(1)))
        require(*end, size);
    }
  }
  std::string remedy = "add `else 0` after the subscripts";
  if (!fact.empty())
    remedy += ", or to `require`: \"" + fact + "\"";
  report(scope, subscript.begin, std::move(message), std::move(remedy));
  return false;
}

} // namespace attnc
