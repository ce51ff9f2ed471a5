// Dims whose sequences are packed without padding: {"ragged": "cu", "over": "b"}. Such a dim i has
// the length cu[b + 1] - cu[b]; an input or output that carries it has an axis of its own for the
// rows of all sequences, i_rows, in which index i of sequence b is row cu[b] + i.
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/suggest.h"
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

static constexpr const char *example =
    "write {\"ragged\": \"cu\", \"over\": \"b\"} with an input \"cu\": \"i32[n]\" and the dim "
    "\"b\": \"size(n) - 1\"";

/// {"ragged": an input of offsets, "over": a dim, "max": what readExtent takes}
void ProgramBuilder::readRagged(StringRef dim, const JsonValue &value) {
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
  symbol->offsets = builder.getStringAttr(offsets->text);
  const std::string &cu = offsets->text, &b = over->text;
  symbol->lengthText = synthesise(cu + "[" + b + " + 1] - " + cu + "[" + b + "]", offsets->offset);
  symbol->startText = synthesise(cu + "[" + b + "]", offsets->offset);
  if (const JsonValue *most = value.find("max"))
    readGreatest(dim, *most);
  else
    symbol->computed = synthesise("size(" + rows + ")", value.offset);
}

/// The rows of a ragged dim that no input carries are those of one that has the same sequences: x
/// read at i and at j, for attention of packed rows to themselves.
void ProgramBuilder::shareRows() {
  llvm::StringSet<> carried;
  for (const auto &[name, type] : inputTypes)
    for (const PlacedName &dim : type.dims)
      carried.insert(dim.name);
  for (auto &[dim, symbol] : symbols) {
    if (!symbol.rows || carried.contains(dim.getValue()))
      continue;
    for (const auto &[other, its] : symbols)
      if (its.rows && carried.contains(other.getValue()) && its.over == symbol.over &&
          its.startText->text == symbol.startText->text) {
        lookup(symbol.rows.getValue())->computed =
            synthesise("size(" + its.rows.str() + ")", symbol.offset);
        break;
      }
  }
}

/// Whether what a ragged dim names is an input of offsets and a dim. True of other dims.
bool ProgramBuilder::checkSequences(StringAttr dim) {
  const JsonValue *dims = root.find("dims");
  const JsonValue *declared = dims ? dims->find(dim.getValue()) : nullptr;
  const JsonValue *offsets = declared ? declared->find("ragged") : nullptr;
  if (!offsets)
    return true;
  const JsonValue *over = declared->find("over");
  for (const JsonValue *name : {offsets, over}) {
    Symbol *symbol = lookup(name->text);
    if (symbol && symbol->kind == Symbol::Wrong)
      return false;
    bool isDim = symbol && symbol->kind == Symbol::Dim;
    bool isOffsets =
        symbol && symbol->kind == Symbol::Input && symbol->axes.size() == 1 &&
        scalarTypeOf(cast<attn::ArrayType>(symbol->array.getType()).getElementType()) ==
            ScalarType::Int;
    if (name == over ? isDim : isOffsets)
      continue;
    Symbol::Kind wanted = name == over ? Symbol::Dim : Symbol::Input;
    std::string quoted = "'" + name->text + "'";
    report(file.at(name->offset,
                   name == over && symbol ? quoted + ", which is to count the sequences of '" +
                                                dim.str() + "', is not a dim"
                   : name == over ? "the dim " + quoted + ", which counts the sequences of '" +
                                        dim.str() + "', is not declared"
                                  : quoted + " is no input of offsets: integers along one dim",
                   symbol ? example : didYouMean(name->text, namesOf(wanted), example)));
    return false;
  }
  StringAttr axis = lookup(offsets->text)->axes.front();
  auto needed = Polynomial::add(sizePolynomial(dimNamed(over->text)), Polynomial(1));
  if (extentsIncomplete || (needed && facts.provesAtMost(*needed, sizePolynomial(axis))))
    return true;
  report(
      file.at(over->offset,
              "'" + offsets->text + "' may have fewer than size(" + over->text +
                  ") + 1 offsets: it holds where each sequence begins, and where the last one ends",
              axis.getValue() == over->text
                  ? "write \"" + offsets->text + "\": \"i32[n]\" and the dim \"" + over->text +
                        "\": \"size(n) - 1\""
                  : "write \"" + over->text + "\": \"size(" + axis.str() + ") - 1\" in `dims`"));
  return false;
}

/// Refuses an input that carries a ragged dim and the one that counts its sequences: its rows are
/// those of all sequences.
bool ProgramBuilder::checkPackedAxes(const SourceText &text, const ArrayTypeSyntax &syntax) {
  for (const PlacedName &name : syntax.dims) {
    Symbol *dim = lookup(name.name);
    if (!dim || dim->kind != Symbol::Dim || !dim->over)
      continue;
    for (const PlacedName &other : syntax.dims)
      if (other.name == dim->over.getValue()) {
        report(text.at(other.place,
                       "'" + name.name + "' holds the rows of all '" + other.name +
                           "', and this input carries both",
                       "leave '" + other.name + "' out where sequences are packed; for padded " +
                           "ones, declare \"" + name.name + "\": {\"extent\": \"len[" + other.name +
                           "]\"}"));
        return false;
      }
  }
  return true;
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

/// The value of a text that stands for what a spec says. Null if it was wrong.
const Scalar *ProgramBuilder::evaluateText(const JsonValue &of) {
  SourceText text(file, of);
  NameScope scope{text, NameScope::Body};
  ExprPtr expr = parseExpression(text, diagnostics);
  const Scalar *value = expr ? evaluate(scope, *expr) : nullptr;
  return value && !value->isPoison() ? value : nullptr;
}

/// The row of index 0 of a ragged dim, for each sequence.
const Scalar *ProgramBuilder::startOf(StringAttr dim) {
  (void)lengthOf(dim);
  return symbols.find(dim)->second.start;
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

/// The least offset of the sequences from that of b on, or with `later` of those behind it, within
/// the rows: where b is stored from, or up to.
Value ProgramBuilder::leastOffset(StringAttr dim, bool later, Location loc) {
  const Symbol symbol = symbols.find(dim)->second, offsets = symbols.find(symbol.offsets)->second;
  StringAttr axis = offsets.axes.front();
  auto apply = [&](ScalarOp op, ScalarType type, ArrayRef<const Scalar *> args) {
    return scalars.operation(loc, op, type, args);
  };
  const Scalar *number = scalars.array(loc, indexOf(axis, loc));
  const Scalar *counts = apply(later ? ScalarOp::Gt : ScalarOp::Ge, ScalarType::Bool,
                               {number, scalars.array(loc, indexOf(symbol.over, loc))});
  auto last = Polynomial::add(sizePolynomial(symbol.over), Polynomial(1));
  if (!last || !facts.provesAtMost(sizePolynomial(axis), *last)) // some lie behind the last offset
    counts = apply(
        ScalarOp::And, ScalarType::Bool,
        {counts, apply(ScalarOp::Le, ScalarType::Bool, {number, sizeOfDim(symbol.over, loc)})});
  Subscripts own;
  own[axis].dim = axis;
  const Scalar *rows = sizeOfDim(symbol.rows, loc);
  const Scalar *offset = apply(ScalarOp::Where, ScalarType::Int,
                               {counts, readAt(loc, offsets.array, own, std::nullopt), rows});
  offset = apply(ScalarOp::Min, ScalarType::Int, {offset, rows});
  offset = apply(ScalarOp::Max, ScalarType::Int, {offset, scalars.integer(loc, 0)});
  StringRef suffix = later ? "_end" : "_first";
  return attn::ReduceOp::create(builder, attn::renamed(loc, (dim.getValue() + suffix).str()),
                                arrayType({symbol.over}, ScalarType::Int), attn::ReduceKind::Min,
                                builder.getArrayAttr({axis}), materialise(loc, offset));
}

/// For each row of a ragged dim its sequence, -1 for a row of none. Sequences that are stored do
/// not overlap: one ends where a later one begins, and one that begins behind a later one, or
/// before the rows, is empty.
Value ProgramBuilder::sequenceOfRow(StringAttr dim, Location loc) {
  const Symbol symbol = symbols.find(dim)->second;
  auto apply = [&](ScalarOp op, ScalarType type, ArrayRef<const Scalar *> args) {
    return scalars.operation(loc, op, type, args);
  };
  const Scalar *first = scalars.array(loc, leastOffset(dim, /*later=*/false, loc));
  const Scalar *end = scalars.array(loc, leastOffset(dim, /*later=*/true, loc));
  const Scalar *isPlaced = apply(ScalarOp::Eq, ScalarType::Bool, {startOf(dim), first});
  const Scalar *most =
      apply(ScalarOp::Min, ScalarType::Int,
            {apply(ScalarOp::Sub, ScalarType::Int, {end, first}), boundOfDim(dim, loc)});
  Value count = materialise(
      attn::renamed(loc, (dim.getValue() + "_stored").str()),
      apply(ScalarOp::Where, ScalarType::Int, {isPlaced, most, scalars.integer(loc, 0)}));
  const Scalar *row = scalars.array(loc, indexOf(symbol.rows, loc));
  const Scalar *local = apply(ScalarOp::Sub, ScalarType::Int, {row, first});
  const Scalar *inside =
      apply(ScalarOp::And, ScalarType::Bool,
            {apply(ScalarOp::Ge, ScalarType::Bool, {local, scalars.integer(loc, 0)}),
             apply(ScalarOp::Lt, ScalarType::Bool, {local, scalars.array(loc, count)})});
  // Where the row lies in sequence b, b; else -1. The greatest is the row's sequence.
  const Scalar *candidate =
      apply(ScalarOp::Where, ScalarType::Int,
            {inside, scalars.array(loc, indexOf(symbol.over, loc)), scalars.integer(loc, -1)});
  Location named = attn::renamed(loc, (symbol.over.getValue() + "_of_row").str());
  return attn::ReduceOp::create(builder, named, arrayType({symbol.rows}, ScalarType::Int),
                                attn::ReduceKind::Max, builder.getArrayAttr({symbol.over}),
                                materialise(loc, candidate));
}

/// A read of rows that may belong to no sequence, which is no finding of a check of subscripts.
const Scalar *ProgramBuilder::readQuietly(Location loc, Value source,
                                          const Subscripts &subscripts) {
  const Scalar *read = readAt(loc, source, subscripts, 0.0);
  size_t rank = cast<attn::ArrayType>(source.getType()).getDims().size();
  read->array.getDefiningOp()->setAttr(
      attn::kCheckedAttr,
      builder.getArrayAttr(SmallVector<Attribute>(rank, builder.getStringAttr(""))));
  return read;
}

/// An output that carries ragged dims, row by row: every row finds its sequence, and what is stored
/// for rows of several dims is 0 where they are not of one sequence. Changes `axes` to those
/// stored.
const Scalar *ProgramBuilder::packOutput(const Scalar *value, SmallVector<StringAttr> &axes) {
  SmallVector<StringAttr> ragged = llvm::filter_to_vector(
      axes, [&](StringAttr axis) { return bool(symbols.find(axis)->second.rows); });
  if (ragged.empty())
    return value;
  Location loc = value->loc;
  Value padded = materialise(loc, value);
  Subscripts subscripts;
  for (StringAttr axis : axes)
    subscripts[axis].dim = axis;
  for (StringAttr dim : ragged) {
    const Symbol symbol = symbols.find(dim)->second;
    Subscripts own;
    own[symbol.over].value = sequenceOfRow(dim, loc);
    const Scalar *start = readQuietly(loc, materialise(loc, startOf(dim)), own);
    const Scalar *row = scalars.array(loc, indexOf(symbol.rows, loc));
    Location index = attn::renamed(loc, (dim.getValue() + "_of_row").str());
    subscripts[dim] = Subscript();
    subscripts[dim].value =
        materialise(index, scalars.operation(loc, ScalarOp::Sub, ScalarType::Int, {row, start}));
    Subscript &sequence = subscripts[symbol.over];
    sequence.value = sequence.dim ? own[symbol.over].value
                                  : commonSequence(loc, sequence.value, own[symbol.over].value);
    sequence.dim = {};
  }
  const Scalar *packed = readQuietly(loc, padded, subscripts);
  if (ragged.size() == 1)
    packed->array.getDefiningOp()->setAttr(attn::kPackedAttr, ragged.front());
  for (StringAttr dim : ragged)
    llvm::erase(axes, symbols.find(dim)->second.over);
  axes = storedDims(axes);
  return packed;
}

/// The sequence of two rows where it is the same, else -1.
Value ProgramBuilder::commonSequence(Location loc, Value one, Value other) {
  const Scalar *a = scalars.array(loc, one), *b = scalars.array(loc, other);
  return materialise(
      loc, scalars.operation(loc, ScalarOp::Where, ScalarType::Int,
                             {scalars.operation(loc, ScalarOp::Eq, ScalarType::Bool, {a, b}), a,
                              scalars.integer(loc, -1)}));
}

} // namespace attnc
