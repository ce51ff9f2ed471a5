// Types, dims and inputs.
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/suggest.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {

static constexpr size_t maxDims = 64;
static constexpr size_t maxRank = 16;
static constexpr int64_t maxExtent = int64_t(1) << 30; // as the runtime

static const std::vector<std::string> storageNames = {"f16", "bf16", "f32", "f64", "i8",
                                                      "i32", "i64",  "u8",  "bool"};

static Type storageType(MLIRContext *context, StringRef name) {
  return llvm::StringSwitch<Type>(name)
      .Case("f16", Float16Type::get(context))
      .Case("bf16", BFloat16Type::get(context))
      .Case("f32", Float32Type::get(context))
      .Case("f64", Float64Type::get(context))
      .Case("i8", IntegerType::get(context, 8))
      .Case("i32", IntegerType::get(context, 32))
      .Case("i64", IntegerType::get(context, 64))
      .Case("u8", IntegerType::get(context, 8, IntegerType::Unsigned))
      .Case("bool", IntegerType::get(context, 1))
      .Default({});
}

Symbol *ProgramBuilder::declare(StringRef name, Symbol::Kind kind, size_t offset) {
  if (!isIdentifier(name) || isReservedWord(name)) {
    report(file.at(offset, "'" + name.take_front(80).str() + "' cannot be a name",
                   isReservedWord(name) ? "it is a word of the language: choose another"
                                        : "a name is one word of letters, digits and _"));
    return nullptr;
  }
  if (isFunctionName(name)) {
    report(
        file.at(offset, "'" + name.str() + "' is the name of a function", "choose another name"));
    return nullptr;
  }
  Symbol symbol;
  symbol.kind = kind;
  symbol.offset = offset;
  auto [it, isNew] = symbols.insert({builder.getStringAttr(name), symbol});
  if (isNew)
    return &it->second;
  if (it->second.kind == Symbol::Wrong) {
    it->second = symbol;
    return &it->second;
  }
  report(file.at(offset,
                 "the name '" + name.str() + "' is already taken, in " +
                     file.lineText(it->second.offset),
                 "dims, inputs, params and lets share one namespace: choose another name"));
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type ProgramBuilder::lookupType(StringRef name) {
  if (Type named = types.lookup(name))
    return named;
  return storageType(&context, name);
}

Type ProgramBuilder::requireType(const SourceText &text, const PlacedName &name) {
  if (Type type = lookupType(name.name))
    return type;
  if (types.contains(name.name)) // its declaration was wrong
    return {};
  std::vector<std::string> known = storageNames;
  for (StringRef type : types.keys())
    known.push_back(type.str());
  report(text.at(name.place, "unknown type '" + name.name + "'",
                 adviceOnType(name.name, known,
                              "types are " + llvm::join(storageNames, ", ") +
                                  ", and what the spec's `types` names")));
  return {};
}

void ProgramBuilder::declareTypes() {
  const JsonValue *declared = section("types", JsonValue::Object);
  if (!declared)
    return;
  for (const JsonMember &member : declared->members) {
    types[member.key] = {};
    if (storageType(&context, member.key) || !isIdentifier(member.key)) {
      report(file.at(member.keyOffset, "'" + member.key + "' cannot be the name of a type",
                     "choose a word that is not a type already"));
      continue;
    }
    auto over = overrides.values.find(member.key);
    if (over != overrides.values.end()) {
      SourceText origin("--set " + member.key + "=" + over->second, over->second);
      types[member.key] = storageType(&context, over->second);
      if (!types[member.key])
        report(origin.at(0, "unknown type '" + over->second + "'",
                         adviceOnType(over->second, storageNames,
                                      "types are " + llvm::join(storageNames, ", "))));
      continue;
    }
    if (!expectKind(member.value, JsonValue::String, "a type", "\"T\": \"bf16\""))
      continue;
    SourceText text(file, member.value);
    types[member.key] = storageType(&context, member.value.text);
    if (!types[member.key])
      report(text.at(0, "unknown type '" + member.value.text + "'",
                     adviceOnType(member.value.text, storageNames,
                                  "types are " + llvm::join(storageNames, ", "))));
  }
}

//===----------------------------------------------------------------------===//
// Inputs and dims
//===----------------------------------------------------------------------===//

/// Reads the types of the inputs, whose dims come first in the program's list.
void ProgramBuilder::declareInputs() {
  const JsonValue *inputs = section("inputs", JsonValue::Object);
  if (!inputs)
    return;
  for (const JsonMember &member : inputs->members) {
    if (!expectKind(member.value, JsonValue::String, "an input", "\"q\": \"T[b, h, i, d]\"")) {
      markWrong(member.key);
      continue;
    }
    SourceText text(file, member.value);
    auto syntax = parseArrayType(text, diagnostics);
    if (!syntax) {
      markWrong(member.key);
      markWordsWrong(member.value.text);
      continue;
    }
    for (const PlacedName &dim : syntax->dims) {
      size_t offset = member.value.textOffset(dim.place);
      if (!dimNamed(dim.name) && !declare(dim.name, Symbol::Dim, offset))
        markWrong(dim.name);
    }
    inputTypes.emplace(member.key, std::move(*syntax));
  }
}

bool ProgramBuilder::checkExtent(int64_t extent, const Diagnostic &place) {
  if (extent >= 1 && extent <= maxExtent)
    return true;
  Diagnostic d = place;
  d.message = "the extent of a dim is between 1 and " + std::to_string(maxExtent) + ", this is " +
              std::to_string(extent);
  if (d.remedy.empty())
    d.remedy = "write the extent it has, for example 64";
  report(std::move(d));
  return false;
}

/// What `dims` says about a dim: a number, an expression of sizes, null for "the caller says", or a
/// length that comes from a tensor.
void ProgramBuilder::readExtent(StringRef dim, const JsonValue &value) {
  Symbol *symbol = lookup(dim);
  switch (value.kind) {
  case JsonValue::Null:
    return;
  case JsonValue::Integer:
    if (checkExtent(value.integer, file.at(value.offset, "")))
      symbol->extent = value.integer;
    return;
  case JsonValue::String:
    symbol->computed = &value;
    return;
  case JsonValue::Object:
    readLength(dim, value);
    return;
  default:
    report(file.at(value.offset,
                   "the extent of a dim is an integer, a text with an expression of sizes, or null "
                   "where the caller says it; this is " +
                       kindName(value.kind).str(),
                   "for example \"d\": 64 or \"j\": \"size(w) * size(t)\""));
  }
}

/// {"extent": an expression of integer inputs, "max": what readExtent takes}
void ProgramBuilder::readLength(StringRef dim, const JsonValue &value) {
  constexpr const char *example = "write {\"extent\": \"len[b]\", \"max\": 4096}, or no max if "
                                  "an input carries the dim";
  if (value.find("ragged")) {
    readRagged(dim, value);
    return;
  }
  for (const JsonMember &member : value.members)
    if (member.key != "extent" && member.key != "max") {
      report(file.at(member.keyOffset, "unknown key '" + member.key + "' of a dim",
                     didYouMean(member.key, {"extent", "max", "ragged", "over"}, example)));
      return;
    }
  const JsonValue *length = value.find("extent"), *most = value.find("max");
  if (!length || length->kind != JsonValue::String) {
    report(file.at(length ? length->offset : value.offset,
                   "the length of a dim is a text with an expression of integer inputs", example));
    return;
  }
  lookup(dim)->lengthText = length;
  if (most)
    readGreatest(dim, *most);
}

void ProgramBuilder::readGreatest(StringRef dim, const JsonValue &value) {
  if (value.kind == JsonValue::Object)
    report(file.at(value.offset, "the greatest length is the same everywhere",
                   "write a number or an expression of sizes"));
  else
    readExtent(dim, value);
}

void ProgramBuilder::declareDims() {
  if (const JsonValue *dims = section("dims", JsonValue::Object))
    for (const JsonMember &member : dims->members) {
      if (!dimNamed(member.key) && !declare(member.key, Symbol::Dim, member.keyOffset))
        continue;
      bool isReplaced =
          overrides.values.count(member.key) && member.value.kind != JsonValue::String;
      if (!isReplaced || member.value.kind == JsonValue::Object)
        readExtent(member.key, member.value);
    }
  shareRows();
  for (auto &[name, symbol] : symbols)
    if (symbol.kind == Symbol::Dim && types.contains(name.getValue()))
      report(file.at(symbol.offset, "'" + name.str() + "' is both a dim and a type",
                     "choose another name for one of them"));
}

bool ProgramBuilder::checkNumberOfDims() {
  size_t count = llvm::count_if(symbols, [](auto &s) { return s.second.kind == Symbol::Dim; });
  if (count <= maxDims)
    return true;
  report(file.at(root.offset, "the spec has " + std::to_string(count) + " dims",
                 "at most " + std::to_string(maxDims) + " are possible"));
  return false;
}

void ProgramBuilder::applyOverrides() {
  for (const auto &[name, value] : overrides.values) {
    if (types.contains(name))
      continue;
    SourceText origin("--set " + name + "=" + value, value);
    Symbol *symbol = lookup(name);
    if (integerLet(name))
      continue;
    if (!symbol || symbol->kind != Symbol::Dim) {
      std::vector<std::string> known = namesOf(Symbol::Dim);
      for (StringRef type : types.keys())
        known.push_back(type.str());
      report(origin.at(0, "the spec has no type, dim or integer let '" + name + "'",
                       didYouMean(name, known, "it has " + llvm::join(known, ", "))));
      continue;
    }
    int64_t extent = 0;
    if (symbol->computed)
      report(origin.at(0, "the extent of '" + name + "' is computed: " + symbol->computed->text,
                       "set the sizes that it is computed from"));
    else if (StringRef(value).getAsInteger(10, extent))
      report(origin.at(0, "the extent of a dim is an integer, this is '" + value + "'",
                       "for example --set " + name + "=64"));
    else if (checkExtent(extent, origin.at(0, "")))
      symbol->extent = extent;
  }
}

/// The static extents of one array must leave room for the dynamic ones in 64-bit offsets.
bool ProgramBuilder::checkStaticSize(ArrayRef<StringAttr> dims, const Diagnostic &place) {
  constexpr int64_t most = int64_t(1) << 40;
  int64_t elements = 1;
  for (StringAttr dim : dims) {
    bool overflow =
        llvm::MulOverflow(elements, symbols.find(dim)->second.extent.value_or(1), elements);
    if (!overflow && elements <= most)
      continue;
    Diagnostic d = place;
    d.message = "the static extents of this array multiply to more than 2^40 elements";
    d.remedy = "leave out of `dims` what is known only when the program runs";
    report(std::move(d));
    return false;
  }
  return true;
}

void ProgramBuilder::createInputs() {
  const JsonValue *inputs = root.find("inputs");
  if (!inputs || inputs->kind != JsonValue::Object)
    return;
  for (const JsonMember &member : inputs->members) {
    auto found = inputTypes.find(member.key);
    if (found == inputTypes.end())
      continue;
    Symbol *symbol = declare(member.key, Symbol::Input, member.keyOffset);
    if (!symbol)
      continue;
    SourceText text(file, member.value);
    const ArrayTypeSyntax &syntax = found->second;
    Type element = requireType(text, syntax.type);
    bool valid = element != Type();
    if (syntax.dims.size() > maxRank) {
      report(text.at(0, "an input has at most " + std::to_string(maxRank) + " dims",
                     "join dims that are always read together into one"));
      valid = false;
    }
    for (const PlacedName &dim : syntax.dims) {
      StringAttr name = dimNamed(dim.name);
      if (name && llvm::is_contained(symbol->axes, name)) {
        report(text.at(dim.place, "the dim '" + dim.name + "' occurs twice",
                       "name the second one differently, and require the sizes to be equal"));
        valid = false;
      }
      valid &= name != StringAttr();
      symbol->axes.push_back(name);
    }
    valid = valid && checkPackedAxes(text, syntax) && checkStaticSize(symbol->axes, text.at(0, ""));
    if (!valid) {
      symbol->kind = Symbol::Wrong;
      continue;
    }
    symbol->array = attn::InputOp::create(
        builder, locate(member.keyOffset, member.key),
        attn::ArrayType::get(&context, storedDims(symbol->axes), element), member.key);
  }
}

} // namespace attnc
