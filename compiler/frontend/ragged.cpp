// Dims whose sequences are packed without padding: {"ragged": "cu", "over": "b"}. Such a dim i has
// the length cu[b + 1] - cu[b]; an input or output that carries it has an axis of its own for the
// rows of all sequences, i_rows, in which index i of sequence b is row cu[b] + i.
#include "compiler/frontend/program_builder.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"

using namespace mlir;

namespace attnc {

/// A text that stands for what the spec says at `offset`.
const JsonValue *ProgramBuilder::synthesise(std::string text, size_t offset) {
  JsonValue value;
  value.kind = JsonValue::String;
  value.offset = offset;
  value.text = std::move(text);
  synthesised.push_back(std::move(value));
  return &synthesised.back();
}

/// {"ragged": an input of offsets, "over": a dim, "max": what readExtent takes}
void ProgramBuilder::readRagged(StringRef dim, const JsonValue &value) {
  constexpr const char *example =
      "write {\"ragged\": \"cu\", \"over\": \"b\"} with an input \"cu\": \"i32[n]\" and the dim "
      "\"b\": \"size(n) - 1\"";
  for (const JsonMember &member : value.members)
    if (member.key != "ragged" && member.key != "over" && member.key != "max") {
      report(
          file.at(member.keyOffset, "unknown key '" + member.key + "' of a ragged dim", example));
      return;
    }
  const JsonValue *offsets = value.find("ragged"), *over = value.find("over");
  for (const JsonValue *name : {offsets, over})
    if (!name || name->kind != JsonValue::String || !isIdentifier(name->text)) {
      report(file.at(name ? name->offset : value.offset,
                     "a ragged dim names an input with the offsets of the sequences, and the dim "
                     "that counts them",
                     example));
      return;
    }
  if (over->text == dim) {
    report(file.at(over->offset, "the dim '" + dim.str() + "' cannot count its own sequences",
                   example));
    return;
  }
  std::string rows = dim.str() + "_rows";
  if (!declare(rows, Symbol::Dim, value.offset))
    return;
  lookup(rows)->packs = builder.getStringAttr(dim);
  Symbol *symbol = lookup(dim);
  symbol->rows = builder.getStringAttr(rows);
  symbol->over = builder.getStringAttr(over->text);
  const std::string &cu = offsets->text, &b = over->text;
  symbol->lengthText = synthesise(cu + "[" + b + " + 1] - " + cu + "[" + b + "]", offsets->offset);
  symbol->startText = synthesise(cu + "[" + b + "]", offsets->offset);
  if (const JsonValue *most = value.find("max"))
    readGreatest(dim, *most);
  else
    symbol->computed = synthesise("size(" + rows + ")", value.offset);
}

/// The dims of a tensor as it is stored.
SmallVector<StringAttr> ProgramBuilder::storedDims(ArrayRef<StringAttr> axes) {
  SmallVector<StringAttr> dims;
  for (StringAttr axis : axes) {
    StringAttr rows = axis ? symbols.find(axis)->second.rows : StringAttr();
    dims.push_back(rows ? rows : axis);
  }
  return dims;
}

/// The ragged dim whose rows an axis holds, or the axis itself.
StringAttr ProgramBuilder::indexDim(StringAttr axis) {
  auto found = symbols.find(axis);
  return found != symbols.end() && found->second.kind == Symbol::Dim && found->second.packs
             ? found->second.packs
             : axis;
}

/// The row of index 0, for each sequence. Null if it was wrong.
const Scalar *ProgramBuilder::startOf(StringAttr dim) {
  if (const Scalar *known = symbols.find(dim)->second.start)
    return known->isPoison() ? nullptr : known;
  SourceText text(file, *symbols.find(dim)->second.startText);
  NameScope scope{text, NameScope::Body};
  ExprPtr expr = parseExpression(text, diagnostics);
  const Scalar *start = expr ? evaluate(scope, *expr) : scalars.poison(builder.getUnknownLoc());
  symbols.find(dim)->second.start = start;
  return start->isPoison() ? nullptr : start;
}

/// The subscript of a packed axis: the sequence's first row and the index, or -1 where that is not
/// within the sequence.
ProgramBuilder::Subscript ProgramBuilder::packedSubscript(Location loc, StringAttr dim,
                                                          const Subscript &subscript) {
  const Scalar *index =
      scalars.array(loc, subscript.dim ? indexOf(subscript.dim, loc) : subscript.value);
  auto compare = [&](ScalarOp op, const Scalar *bound) {
    return scalars.operation(loc, op, ScalarType::Bool, {index, bound});
  };
  const Scalar *within = compare(ScalarOp::Lt, lengthOf(dim));
  if (!subscript.dim)
    within = scalars.operation(loc, ScalarOp::And, ScalarType::Bool,
                               {compare(ScalarOp::Ge, scalars.integer(loc, 0)), within});
  const Scalar *row = scalars.operation(loc, ScalarOp::Add, ScalarType::Int, {startOf(dim), index});
  const Scalar *kept = scalars.operation(loc, ScalarOp::Where, ScalarType::Int,
                                         {within, row, scalars.integer(loc, -1)});
  Subscript packed;
  packed.value = materialise(attn::renamed(loc, (dim.getValue() + "_row").str()), kept);
  packed.inside = false;
  return packed;
}

/// An output that carries a ragged dim, row by row: every row finds its sequence. Where sequences
/// overlap, the last one counts; a row of no sequence is 0. Changes `axes` to those stored.
const Scalar *ProgramBuilder::packOutput(const Scalar *value, SmallVector<StringAttr> &axes,
                                         const Diagnostic &place) {
  SmallVector<StringAttr> ragged = llvm::filter_to_vector(
      axes, [&](StringAttr axis) { return bool(symbols.find(axis)->second.rows); });
  if (ragged.empty())
    return value;
  StringAttr dim = ragged.front();
  const Symbol symbol = symbols.find(dim)->second;
  if (ragged.size() > 1) {
    Diagnostic d = place;
    d.message = "the output carries two ragged dims, '" + dim.str() + "' and '" + ragged[1].str() +
                "'; rows of one can be packed";
    d.remedy = "reduce over one of them";
    report(std::move(d));
    return nullptr;
  }
  Location loc = value->loc;
  Value padded = materialise(loc, value);
  auto integer = [&](ScalarOp op, const Scalar *a, const Scalar *b) {
    return scalars.operation(loc, op, ScalarType::Int, {a, b});
  };
  // Where row t lies in sequence b, b; else -1. The greatest b is the row's sequence.
  const Scalar *row = scalars.array(loc, indexOf(symbol.rows, loc));
  const Scalar *local = integer(ScalarOp::Sub, row, startOf(dim));
  const Scalar *none = scalars.integer(loc, -1);
  const Scalar *inside = scalars.operation(
      loc, ScalarOp::And, ScalarType::Bool,
      {scalars.operation(loc, ScalarOp::Ge, ScalarType::Bool, {local, scalars.integer(loc, 0)}),
       scalars.operation(loc, ScalarOp::Lt, ScalarType::Bool, {local, lengthOf(dim)})});
  const Scalar *candidate =
      scalars.operation(loc, ScalarOp::Where, ScalarType::Int,
                        {inside, scalars.array(loc, indexOf(symbol.over, loc)), none});
  Location named = attn::renamed(loc, (symbol.over.getValue() + "_of_row").str());
  Value sequence = attn::ReduceOp::create(
      builder, named, arrayType({symbol.rows}, ScalarType::Int), attn::ReduceKind::Max,
      builder.getArrayAttr({symbol.over}), materialise(loc, candidate));
  Subscripts subscripts;
  subscripts[symbol.over].value = sequence;
  // A row of no sequence is no finding of a check of subscripts.
  auto readQuietly = [&](Value source) {
    const Scalar *read = readAt(loc, source, subscripts, 0.0);
    size_t rank = cast<attn::ArrayType>(source.getType()).getDims().size();
    read->array.getDefiningOp()->setAttr(
        attn::kCheckedAttr,
        builder.getArrayAttr(SmallVector<Attribute>(rank, builder.getStringAttr(""))));
    return read;
  };
  const Scalar *start = readQuietly(materialise(loc, startOf(dim)));
  for (StringAttr axis : axes)
    if (axis != symbol.over)
      subscripts[axis].dim = axis;
  Location index = attn::renamed(loc, (dim.getValue() + "_of_row").str());
  subscripts[dim] = Subscript();
  subscripts[dim].value = materialise(index, integer(ScalarOp::Sub, row, start));
  const Scalar *packed = readQuietly(padded);
  llvm::erase(axes, symbol.over);
  axes = storedDims(axes);
  return packed;
}

} // namespace attnc
