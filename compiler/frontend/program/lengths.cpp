// Dims whose length comes from a tensor: {"extent": "len[b]", "max": ...}. Such a dim has its bound
// as extent; what lies beyond the length is not read, and counts for nothing in reductions.
#include "compiler/frontend/program/program_builder.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"
#include <cmath>

using namespace mlir;

namespace attnc {

void ProgramBuilder::resolveLengths() {
  std::vector<StringAttr> bounded;
  for (const auto &[name, symbol] : symbols)
    if (symbol.kind == Symbol::Dim && symbol.lengthText)
      bounded.push_back(name);
  for (StringAttr dim : bounded)
    if (checkSequences(dim))
      lengthOf(dim);
    else
      forgetLength(dim);
}

/// The length of a dim within its extent: an integer over other dims. Null if the dim has none; one
/// whose declaration was wrong has none either, which `forgetLength` sees to.
const Scalar *ProgramBuilder::lengthOf(StringAttr dim) {
  auto found = symbols.find(dim);
  if (found == symbols.end() || found->second.kind != Symbol::Dim || !found->second.lengthText)
    return nullptr;
  if (found->second.length)
    return found->second.length;
  const JsonValue &definition = *found->second.lengthText;
  std::string step = "size(" + dim.str() + ")";
  if (llvm::is_contained(lengthsInProgress, step)) {
    report(file.at(definition.offset, "the length of '" + dim.str() + "' depends on itself",
                   "compute it from integer inputs and from sizes of other dims"));
    forgetLength(dim);
    return nullptr;
  }
  lengthsInProgress.push_back(step);
  const Scalar *length = evaluateLength(definition, dim);
  bool isRagged = symbols.find(dim)->second.startText;
  const Scalar *start =
      length && isRagged ? evaluateText(*symbols.find(dim)->second.startText) : nullptr;
  lengthsInProgress.pop_back();
  Symbol &symbol = symbols.find(dim)->second;
  if (!length || (isRagged && !start)) {
    forgetLength(dim);
    return nullptr;
  }
  symbol.start = start;
  return symbol.length = length;
}

/// Makes a dim whose length was wrong, as has been reported, one without a length.
void ProgramBuilder::forgetLength(StringAttr dim) {
  Symbol &symbol = symbols.find(dim)->second;
  symbol.lengthText = symbol.startText = nullptr;
  symbol.length = symbol.start = nullptr;
  symbol.rows = symbol.over = {};
}

const Scalar *ProgramBuilder::evaluateLength(const JsonValue &definition, StringAttr dim) {
  SourceText text(file, definition);
  NameScope scope{text, NameScope::Body};
  ExprPtr expr = parseExpression(text, diagnostics);
  const Scalar *value = expr ? evaluate(scope, *expr) : nullptr;
  if (!value || value->isPoison())
    return nullptr;
  auto refuse = [&](std::string message, std::string remedy) {
    report(scope, expr->place, std::move(message), std::move(remedy));
    return nullptr;
  };
  if (value->type != ScalarType::Int)
    return refuse("a length is an integer, this is " + typeName(value->type).str(),
                  "take it from an integer input: \"len\": \"i32[b]\"");
  if (llvm::is_contained(attn::unionDims(program, arraysOf(value)), dim))
    return refuse("the length of '" + dim.str() + "' depends on the index " + dim.str(),
                  "a length is the same for all indices of its dim");
  Location loc = attn::renamed(locate(scope, expr->place), (dim.getValue() + "_given").str());
  Value given = materialise(loc, value);
  if (!cast<attn::ArrayType>(given.getType()).isScalar()) {
    auto extent = attn::ExtentOp::create(builder, loc, dim, given);
    if (StringAttr rows = symbols.find(dim)->second.rows)
      extent->setAttr(attn::kRowsAttr, rows);
  }
  // What is outside 0 ... extent counts as the nearer end, so that nothing foreign is read.
  const Scalar *bound = boundOfDim(dim, loc);
  const Scalar *clamped = scalars.operation(loc, ScalarOp::Max, ScalarType::Int,
                                            {scalars.array(loc, given), scalars.integer(loc, 0)});
  clamped = scalars.operation(loc, ScalarOp::Min, ScalarType::Int, {clamped, bound});
  if (clamped->isPoison()) // the extent was wrong
    return nullptr;
  loc = attn::renamed(loc, (dim.getValue() + "_length").str());
  Value array = emitMap(builder, program, loc, clamped);
  Interval interval;
  interval.lower.push_back(Polynomial(0));
  interval.upper.push_back(sizePolynomial(dim));
  interval.fromData = true;
  intervals.setLeaf(array, std::move(interval));
  return scalars.array(loc, array);
}

/// index < length, of a dim that has a length.
const Scalar *ProgramBuilder::withinLength(StringAttr dim, Location loc) {
  const Scalar *index = scalars.array(loc, indexOf(dim, loc));
  return scalars.operation(loc, ScalarOp::Lt, ScalarType::Bool, {index, lengthOf(dim)});
}

bool ProgramBuilder::isWithinLength(const Scalar *condition, StringAttr dim) {
  const Scalar *length = lengthOf(dim);
  return length && condition->kind == Scalar::Operation && condition->op == ScalarOp::Lt &&
         condition->args[0]->kind == Scalar::Array &&
         condition->args[0]->array == indices.lookup(dim) &&
         condition->args[1]->kind == Scalar::Array && condition->args[1]->array == length->array;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Whether a read of `source` as a whole has to stay within a length.
bool ProgramBuilder::hasLengths(Value source) {
  ArrayRef<StringAttr> axes = cast<attn::ArrayType>(source.getType()).getDims();
  return llvm::any_of(axes, [&](StringAttr axis) {
    if (indexDim(axis) != axis)
      return true;
    const Scalar *length = lengthOf(axis);
    return length && llvm::all_of(cast<attn::ArrayType>(length->array.getType()).getDims(),
                                  [&](StringAttr dim) { return llvm::is_contained(axes, dim); });
  });
}

/// Makes the subscript of each axis with a length fall outside, at -1, where it is beyond that
/// length. A length whose dims the array has not got says nothing about its elements.
bool ProgramBuilder::keepWithinLengths(Location loc, Value source, Subscripts &subscripts) {
  if (!hasLengths(source))
    return false;
  Subscripts plain = subscripts;
  for (StringAttr axis : cast<attn::ArrayType>(source.getType()).getDims()) {
    if (StringAttr dim = indexDim(axis); dim != axis && lengthOf(dim))
      subscripts[axis] = packedSubscript(loc, dim, subscripts[axis]);
    const Scalar *length = lengthOf(axis);
    if (!length)
      continue;
    auto dims = cast<attn::ArrayType>(length->array.getType()).getDims();
    if (llvm::any_of(dims, [&](StringAttr dim) { return !plain.contains(dim); }))
      continue;
    bool elsewhere =
        llvm::any_of(dims, [&](StringAttr dim) { return plain.find(dim)->second.dim != dim; });
    if (elsewhere) {
      Subscripts own;
      for (StringAttr dim : dims)
        own[dim] = plain.find(dim)->second;
      length = readAt(loc, length->array, own, 0.0);
      length->array.getDefiningOp()->setAttr(
          attn::kCheckedAttr,
          builder.getArrayAttr(SmallVector<Attribute>(dims.size(), builder.getStringAttr(""))));
    }
    Subscript &subscript = subscripts[axis];
    const Scalar *index =
        scalars.array(loc, subscript.dim ? indexOf(subscript.dim, loc) : subscript.value);
    const Scalar *within = scalars.operation(loc, ScalarOp::Lt, ScalarType::Bool, {index, length});
    const Scalar *kept = scalars.operation(loc, ScalarOp::Where, ScalarType::Int,
                                           {within, index, scalars.integer(loc, -1)});
    subscript.value = materialise(attn::renamed(loc, (axis.getValue() + "_kept").str()), kept);
    subscript.dim = {};
    subscript.inside = false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Values beyond a length
//===----------------------------------------------------------------------===//

/// True if the value is 0 wherever the index of `dim` is beyond its length.
bool ProgramBuilder::vanishesBeyond(const Scalar *value, StringAttr dim) {
  if (value->isConstant())
    return isFloat(value->type) ? value->real == 0 : value->integer == 0;
  if (value->kind == Scalar::Array)
    return vanishing.contains({value->array, dim});
  if (value->kind != Scalar::Operation)
    return false;
  auto vanishes = [&](unsigned i) { return vanishesBeyond(value->args[i], dim); };
  switch (value->op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Min:
  case ScalarOp::Max:
    return vanishes(0) && vanishes(1);
  case ScalarOp::Mul:
    return (vanishes(0) && (vanishes(1) || isFinite(value->args[1]))) ||
           (vanishes(1) && isFinite(value->args[0]));
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::ToFloat:
  case ScalarOp::RoundTo:
    return vanishes(0);
  case ScalarOp::Where:
    return (vanishes(1) || isWithinLength(value->args[0], dim)) && vanishes(2);
  default:
    return false;
  }
}

/// True if the value is a finite number whatever the inputs hold.
bool ProgramBuilder::isFinite(const Scalar *value) {
  if (!isFloat(value->type))
    return true;
  if (value->isConstant())
    return std::isfinite(value->real);
  if (value->kind != Scalar::Operation)
    return false;
  if (value->op == ScalarOp::Where)
    return isFinite(value->args[1]) && isFinite(value->args[2]);
  return (value->op == ScalarOp::ToFloat && !isFloat(value->args[0]->type)) ||
         ((value->op == ScalarOp::Neg || value->op == ScalarOp::Abs) && isFinite(value->args[0]));
}

/// The value where the index is within the length, and 0 beyond. A product stays one: each of its
/// factors vanishes.
const Scalar *ProgramBuilder::vanishBeyond(const Scalar *value, StringAttr dim, Location loc) {
  if (vanishesBeyond(value, dim))
    return value;
  if (value->kind == Scalar::Operation && value->op == ScalarOp::Mul && isFloat(value->type)) {
    auto factor = [&](unsigned i) {
      return isFinite(value->args[i]) ? value->args[i] : vanishBeyond(value->args[i], dim, loc);
    };
    const Scalar *product =
        scalars.operation(value->loc, ScalarOp::Mul, value->type, {factor(0), factor(1)});
    if (vanishesBeyond(product, dim))
      return product;
  }
  return replaceBeyond(value, dim, 0, loc);
}

/// The value where the index is within the length, and a constant beyond: 0, 1 or an infinity.
const Scalar *ProgramBuilder::replaceBeyond(const Scalar *value, StringAttr dim, double other,
                                            Location loc) {
  return scalars.operation(
      loc, ScalarOp::Where, value->type,
      {withinLength(dim, loc), value, extremeOrNumber(other, value->type, loc)});
}

/// A constant of any type. For infinities, integers have their least and greatest number.
const Scalar *ProgramBuilder::extremeOrNumber(double value, ScalarType type, Location loc) {
  if (isFloat(type))
    return scalars.real(loc, value, type);
  if (type == ScalarType::Bool)
    return scalars.condition(loc, value != 0);
  return scalars.integer(loc, std::isfinite(value) ? static_cast<int64_t>(value)
                              : value < 0          ? INT64_MIN
                                                   : INT64_MAX);
}

/// The operand of a reduction over `dims`, with its identity wherever an index is beyond a length.
/// What has been replaced once is the same array for every reduction. `kept` are the dims for which
/// it has been done; a length that is compared with brings its own dims along.
const Scalar *ProgramBuilder::keepWithinLengths(const Scalar *operand, ArrayRef<StringAttr> dims,
                                                double identity,
                                                llvm::SmallDenseSet<StringAttr> &kept,
                                                Location loc) {
  auto next = [&]() -> StringAttr {
    for (StringAttr dim : attn::unionDims(program, arraysOf(operand)))
      if (lengthOf(dim) && (llvm::is_contained(dims, dim) || lengthDiffersAlong(dim, dims)) &&
          kept.insert(dim).second)
        return dim;
    return {};
  };
  while (StringAttr dim = next()) {
    if (identity == 0 && operand->type != ScalarType::Bool) {
      operand = vanishBeyond(operand, dim, loc);
      continue;
    }
    if (operand->kind != Scalar::Array) {
      operand = replaceBeyond(operand, dim, identity, loc);
      continue;
    }
    const Scalar *&known = replaced[{operand->array.getAsOpaquePointer(),
                                     const_cast<void *>(dim.getAsOpaquePointer()), identity}];
    if (!known)
      known = scalars.array(loc, materialise(loc, replaceBeyond(operand, dim, identity, loc)));
    operand = known;
  }
  return operand;
}

/// What an output stores: 0 beyond the lengths of its dims. Null if it was wrong.
const Scalar *ProgramBuilder::storedWithinLengths(const Scalar *value, ArrayRef<StringAttr> axes,
                                                  const Diagnostic &place) {
  Location loc = value->loc;
  for (StringAttr axis : axes) {
    const Scalar *length = lengthOf(axis);
    if (!length)
      continue;
    for (StringAttr dim : cast<attn::ArrayType>(length->array.getType()).getDims())
      if (!llvm::is_contained(axes, dim)) {
        Diagnostic d = place;
        d.message = "the length of '" + axis.str() + "' differs from one " + dim.str() +
                    " to the next, and the output has no dim '" + dim.str() + "'";
        d.remedy = "reduce over " + axis.str() + ", or compute a value that depends on " +
                   dim.str() + " as well";
        report(std::move(d));
        return nullptr;
      }
    if (!vanishesBeyond(value, axis))
      value = replaceBeyond(value, axis, 0, loc);
  }
  return value;
}

/// Remembers along which dims a computed array is 0 beyond the length.
void ProgramBuilder::noteVanishing(Value array, const Scalar *value) {
  for (StringAttr dim : cast<attn::ArrayType>(array.getType()).getDims())
    if (lengthOf(dim) && vanishesBeyond(value, dim))
      vanishing.insert({array, dim});
}

} // namespace attnc
