#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/suggest.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace attnc {

/// The keys of a spec, with what they hold.
struct Section {
  StringRef key;
  JsonValue::Kind kind;
  bool required;
  StringRef example;
};

static constexpr Section sections[] = {
    {"attnc", JsonValue::Integer, true, "\"attnc\": 1"},
    {"extends", JsonValue::String, false, "\"extends\": \"causal\""},
    {"name", JsonValue::String, false, "\"name\": \"my_attention\""},
    {"doc", JsonValue::String, false, "\"doc\": \"what it is, and its paper\""},
    {"types", JsonValue::Object, false, "\"types\": {\"T\": \"bf16\"}"},
    {"dims", JsonValue::Object, false, "\"dims\": {\"d\": 64}"},
    {"let", JsonValue::Object, false, "\"let\": {\"g\": \"size(h) // size(hk)\"}"},
    {"params", JsonValue::Object, false, "\"params\": {\"scale\": \"f32 > 0 = 1/sqrt(size(d))\"}"},
    {"require", JsonValue::Array, false, "\"require\": [\"size(h) % size(hk) == 0\"]"},
    {"inputs", JsonValue::Object, true, "\"inputs\": {\"q\": \"T[b, h, i, d]\"}"},
    {"body", JsonValue::Array, true, "\"body\": [\"s = sum(d, q[b,h,i,d] * k[b,h,j,d])\"]"},
    {"outputs", JsonValue::Object, true, "\"outputs\": {\"o\": \"T\"}"},
    {"grad", JsonValue::Array, false, "\"grad\": [\"q\", \"k\", \"v\"]"},
    {"save", JsonValue::String, false, "\"save\": \"auto\""},
    {"schedule", JsonValue::Object, false, "\"schedule\": {\"fold\": \"auto\"}"},
    {"reference", JsonValue::Object, false, "\"reference\": {\"shape\": {\"b\": 2, \"i\": 300}}"},
};

ProgramBuilder::ProgramBuilder(MLIRContext &context, const SourceFile &file, const JsonValue &root,
                               const Overrides &overrides, Diagnostics &diagnostics)
    : context(context), file(file), root(root), overrides(overrides), diagnostics(diagnostics),
      builder(&context) {}

std::optional<Spec> ProgramBuilder::build() {
  if (!checkSections())
    return std::nullopt;
  // What is wrong with an extent is not told again by what depends on it.
  auto extents = [&](auto step) {
    unsigned before = diagnostics.errorCount();
    step();
    extentsIncomplete |= diagnostics.errorCount() != before;
  };
  readHeading();
  declareTypes();
  declareInputs();
  extents([&] { declareDims(); });
  if (!checkNumberOfDims())
    return std::nullopt;
  extents([&] { applyOverrides(); });
  createProgram();
  createInputs();
  declareLets();
  extents([&] { resolveExtents(); });
  readRequires();
  declareParams();
  extents([&] { resolveLengths(); });
  buildBody();
  createOutputs();
  readGrad();
  readReference();
  if (diagnostics.hasErrors())
    return std::nullopt;
  warnUnused();
  warnAboutStatements();
  eraseUnused();
  if (!verifyModule())
    return std::nullopt;
  return std::move(spec);
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

bool ProgramBuilder::checkSections() {
  if (root.kind != JsonValue::Object) {
    report(file.at(root.offset, "a spec is a JSON object, this is " + kindName(root.kind).str(),
                   "write { \"attnc\": 1, \"inputs\": ..., \"body\": ..., \"outputs\": ... }"));
    return false;
  }
  std::vector<std::string> keys;
  for (const Section &s : sections)
    keys.push_back(s.key.str());
  for (const JsonMember &member : root.members)
    if (!llvm::is_contained(keys, member.key))
      report(file.at(member.keyOffset, "unknown key '" + member.key + "'",
                     didYouMean(member.key, keys, "the keys are " + llvm::join(keys, ", "))));
  for (const Section &s : sections)
    if (s.required && !root.find(s.key))
      report(
          file.at(root.offset, "the spec has no '" + s.key.str() + "'", "add " + s.example.str()));
  return true;
}

bool ProgramBuilder::expectKind(const JsonValue &value, JsonValue::Kind kind, StringRef what,
                                StringRef remedy) {
  if (value.kind == kind)
    return true;
  report(file.at(value.offset,
                 what.str() + " is " + kindName(kind).str() + ", this is " +
                     kindName(value.kind).str(),
                 remedy.empty() ? "" : "for example " + remedy.str()));
  return false;
}

const JsonValue *ProgramBuilder::section(StringRef key, JsonValue::Kind kind) {
  const JsonValue *value = root.find(key);
  const Section *row = llvm::find_if(sections, [&](const Section &s) { return s.key == key; });
  if (!value || !expectKind(*value, kind, "'" + key.str() + "'", row->example))
    return nullptr;
  return value;
}

void ProgramBuilder::readHeading() {
  const JsonValue *version = section("attnc", JsonValue::Integer);
  if (version && (version->kind != JsonValue::Integer || version->integer != 1))
    report(file.at(version->offset, "this compiler knows version 1 of the language",
                   "write \"attnc\": 1"));
  StringRef stem = llvm::sys::path::stem(file.name());
  spec.name = isIdentifier(stem) ? stem.str() : "spec";
  if (const JsonValue *name = section("name", JsonValue::String)) {
    spec.name = name->text;
    if (!isIdentifier(name->text))
      report(file.at(name->offset,
                     "the name of a spec is one word of at most " + std::to_string(maxNameLength) +
                         " letters and digits",
                     "kernels are named after it: \"name\": \"my_attention\""));
  }
  if (const JsonValue *doc = section("doc", JsonValue::String))
    spec.doc = doc->text;
  if (const JsonValue *schedule = section("schedule", JsonValue::Object)) {
    spec.schedule = nlohmann::json(schedule->toJson());
    spec.schedulePlace = file.at(schedule->offset, "");
  }
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void ProgramBuilder::createProgram() {
  SmallVector<attn::DimAttr> dims;
  for (const auto &[name, symbol] : symbols)
    if (symbol.kind == Symbol::Dim)
      dims.push_back(
          attn::DimAttr::get(&context, name, symbol.extent.value_or(ShapedType::kDynamic)));
  Location loc = locate(root.offset, "");
  spec.module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(spec.module->getBody());
  program = attn::ProgramOp::create(builder, loc, spec.name, dims);
  if (!spec.doc.empty())
    program.setDoc(spec.doc);
  builder.setInsertionPointToEnd(program.getBodyBlock());
}

void ProgramBuilder::warnUnused() {
  auto kindOf = [](Symbol::Kind kind) -> StringRef {
    return kind == Symbol::Input   ? "input"
           : kind == Symbol::Param ? "param"
           : kind == Symbol::Let   ? "let"
                                   : "";
  };
  for (const auto &[name, symbol] : symbols)
    if (!symbol.used && !kindOf(symbol.kind).empty()) {
      Diagnostic d =
          file.at(symbol.offset,
                  ("the " + kindOf(symbol.kind) + " '" + name.getValue() + "' is never used").str(),
                  "use it, or remove it");
      d.severity = Diagnostic::Warning;
      report(std::move(d));
    }
}

/// Removes arrays that no output, param or require needs. Inputs and params stay: they are the
/// signature.
void ProgramBuilder::eraseUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(program.getBodyBlock()->getOperations())))
    if (isa<attn::ReadOp, attn::MapOp, attn::IndexOp, attn::SizeOp, attn::ReduceOp,
            attn::SoftmaxOp>(op) &&
        op.use_empty())
      op.erase();
}

bool ProgramBuilder::verifyModule() {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (message.empty())
      message = d.str();
    return success();
  });
  if (succeeded(verify(*spec.module)))
    return true;
  report(file.at(root.offset, "internal error: the program of this spec is not valid: " + message,
                 "please report this spec"));
  return false;
}

//===----------------------------------------------------------------------===//
// Shared
//===----------------------------------------------------------------------===//

void ProgramBuilder::report(const NameScope &scope, size_t place, std::string message,
                            std::string remedy) {
  report(scope.text.at(place, std::move(message), std::move(remedy)));
}

const Scalar *ProgramBuilder::wrong(const NameScope &scope, size_t place, std::string message,
                                    std::string remedy) {
  report(scope, place, std::move(message), std::move(remedy));
  return scalars.poison(builder.getUnknownLoc());
}

void ProgramBuilder::markWrong(StringRef name) {
  symbols.insert({builder.getStringAttr(name), Symbol()});
}

/// Every word of a text that could not be parsed may have been meant as a name.
void ProgramBuilder::markWordsWrong(StringRef text) {
  while (!text.empty()) {
    size_t length = nameLength(text, 0);
    StringRef name = text.take_front(length);
    if (length && !isFunctionName(name) && !isReservedWord(name))
      markWrong(name);
    text = text.drop_front(std::max<size_t>(length, 1));
  }
}

Location ProgramBuilder::locate(const NameScope &scope, size_t place, StringRef name) {
  // The statement goes with the location; a very long one only in part.
  constexpr size_t longest = 400;
  StringRef text = scope.text.text();
  std::string statement =
      inOneLine(text.take_front(longest)) + (text.size() > longest ? "..." : "");
  auto [line, column] = scope.text.position(place);
  StringRef from = scope.text.fileName(place);
  return attn::specLocation(&context, from.empty() ? file.name() : from, line, column, statement,
                            name);
}

Location ProgramBuilder::locate(size_t offset, StringRef name) {
  auto [line, column] = file.position(offset);
  return attn::specLocation(&context, file.nameAt(offset), line, column, "", name);
}

attn::ArrayType ProgramBuilder::arrayType(ArrayRef<StringAttr> dims, ScalarType type) {
  return attn::ArrayType::get(&context, attn::canonicalDims(program, dims),
                              mlirType(&context, type));
}

Value ProgramBuilder::materialise(Location loc, const Scalar *value) {
  if (value->kind == Scalar::Array)
    return value->array;
  Value array = emitMap(builder, program, loc, value);
  noteVanishing(array, value);
  if (value->type == ScalarType::Int) {
    intervals.setLeaf(array, value);
    intervals.interval(value); // now, so that a long chain of results is not walked at once
  }
  return array;
}

Value ProgramBuilder::indexOf(StringAttr dim, Location loc) {
  Value &index = indices[dim];
  if (!index) {
    index = attn::IndexOp::create(builder, loc, arrayType({dim}, ScalarType::Int), dim);
    intervals.setLeaf(index, Interval::ofIndex(sizePolynomial(dim)));
  }
  return index;
}

Polynomial ProgramBuilder::sizePolynomial(StringAttr dim) {
  return facts.size(dim.getValue(), symbols.find(dim)->second.extent);
}

/// The number of indices of a dim: its length where it has one.
const Scalar *ProgramBuilder::sizeOfDim(StringAttr dim, Location loc) {
  const Symbol &symbol = symbols.find(dim)->second;
  if (!symbol.lengthText)
    return boundOfDim(dim, loc);
  const Scalar *length = lengthOf(dim);
  return length ? length : scalars.poison(loc);
}

/// The extent of a dim as tensors have it.
const Scalar *ProgramBuilder::boundOfDim(StringAttr dim, Location loc) {
  resolveExtent(dim);
  if (const Scalar *value = symbols.find(dim)->second.value; value && value->isPoison())
    return value;
  if (std::optional<int64_t> extent = symbols.find(dim)->second.extent)
    return scalars.integer(loc, *extent);
  Value &size = sizes[dim];
  if (!size) {
    size = attn::SizeOp::create(builder, loc, arrayType({}, ScalarType::Int), dim);
    intervals.setLeaf(size, Interval::of(sizePolynomial(dim)));
  }
  return scalars.array(loc, size);
}

Symbol *ProgramBuilder::lookup(StringRef name) {
  auto it = symbols.find(builder.getStringAttr(name));
  return it == symbols.end() ? nullptr : &it->second;
}

StringAttr ProgramBuilder::dimNamed(StringRef name) {
  Symbol *symbol = lookup(name);
  return symbol && symbol->kind == Symbol::Dim ? builder.getStringAttr(name) : StringAttr();
}

std::vector<std::string> ProgramBuilder::namesOf(llvm::function_ref<bool(Symbol::Kind)> wanted) {
  std::vector<std::string> names;
  // Suggestions cost time for every name; findings that are not kept need none.
  if (diagnostics.errorCount() < Diagnostics::maxKept)
    for (const auto &[name, symbol] : symbols)
      if (wanted(symbol.kind))
        names.push_back(name.str());
  return names;
}

} // namespace attnc
