#include "compiler/jit/spec_texts.h"
#include "compiler/driver/checks/check.h"
#include "compiler/driver/spec_hints.h"
#include "compiler/evaluator/evaluator.h"
#include "compiler/explain/text.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace attnc {

// The file of the spec, as it was given.
static StringRef fileOf(const Spec &spec) {
  auto place = driver::programOf(spec)->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? place.getFilename().strref() : "";
}

// The text with the spec's name for `file`, where a place follows.
static std::string withoutFolder(StringRef text, StringRef file, const std::string &name) {
  if (file.empty())
    return text.str();
  std::string start = file.str() + ":", result;
  for (size_t at; (at = text.find(start)) != StringRef::npos;) {
    StringRef rest = text.substr(at + start.size());
    bool isPlace = !rest.empty() && llvm::isDigit(rest.front());
    result += text.substr(0, at);
    result += isPlace ? name + ":" : start;
    text = rest;
  }
  return result + text.str();
}

static std::string jsonText(const nlohmann::ordered_json &json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// With the spec's name for its file; those that it extends have theirs.
static OwningOpRef<ModuleOp> withoutFolder(const Spec &spec) {
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(spec.module.get()->clone()));
  auto own = StringAttr::get(module->getContext(), spec.name);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FileLineColRange place) -> std::optional<Attribute> {
    StringRef from = place.getFilename();
    auto file = from == fileOf(spec)
                    ? own
                    : StringAttr::get(module->getContext(), llvm::sys::path::filename(from));
    return FileLineColRange::get(file, place.getStartLine(), place.getStartColumn(),
                                 place.getEndLine(), place.getEndColumn());
  });
  replacer.recursivelyReplaceElementsIn(*module, /*replaceAttrs=*/true, /*replaceLocs=*/true);
  return module;
}

void addSpec(const Spec &spec, Program &program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  withoutFolder(spec)->print(out, OpPrintingFlags().enableDebugInfo());
  program.sources.push_back({specText, text});
  program.sources.push_back({referenceText, spec.reference.dump()});
  if (!spec.grad.empty())
    program.sources.push_back(
        {gradientsText,
         nlohmann::json{{"grad", spec.grad}, {"save", spec.savesLess ? "less" : "auto"}}.dump()});
}

// What a program says of its gradients; nothing of a damaged text.
static void readGradients(const Program &program, Spec &spec) {
  const Source *text = program.findSource(gradientsText);
  auto json = text ? nlohmann::json::parse(text->text, nullptr, false) : nlohmann::json();
  if (!json.is_object() || !json.contains("grad") || !json["grad"].is_array())
    return;
  for (const nlohmann::json &name : json["grad"])
    if (name.is_string())
      spec.grad.push_back(name);
  spec.savesLess = json.value("save", nlohmann::json()) == "less";
}

std::map<std::string, int64_t> referenceShape(const Spec &spec) {
  std::map<std::string, int64_t> extents = driver::referenceExtents(spec);
  attn::ProgramOp program = driver::programOf(spec);
  if (llvm::Error error = evaluator::completeExtents(program, extents)) {
    llvm::consumeError(std::move(error));
    return {};
  }
  std::map<std::string, int64_t> dynamic;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
    if (dim.isStatic())
      continue;
    auto extent = extents.find(dim.getName().str());
    if (extent == extents.end())
      return {};
    dynamic.insert(*extent);
  }
  return dynamic;
}

void addExplanation(const Spec &spec, driver::Compilation &compilation) {
  Explanation explanation = explain(compilation, spec.doc, referenceShape(spec));
  nlohmann::ordered_json json = explainJson(explanation);
  for (const char *time : {"seconds", "nvrtc_seconds"}) // equal programs have equal bytes
    json.erase(time);
  std::vector<Source> &sources = compilation.program.sources;
  StringRef file = fileOf(spec);
  sources.push_back({explanationText, withoutFolder(explainText(explanation), file, spec.name)});
  std::string quoted = jsonText(file.str(), 0);
  sources.push_back(
      {explanationJson,
       withoutFolder(jsonText(json, 2), StringRef(quoted).drop_front().drop_back(), spec.name)});
}

std::optional<Spec> readSpec(MLIRContext &context, const Program &program,
                             Diagnostics &diagnostics) {
  const Source *text = program.findSource(specText);
  if (!text)
    return std::nullopt;
  std::optional<Spec> spec =
      parseAttnFile(context, program.manifest.name + ".mlir", text->text, diagnostics);
  if (const Source *reference = program.findSource(referenceText); spec && reference)
    if (auto json = nlohmann::json::parse(reference->text, nullptr, false); json.is_object())
      spec->reference = std::move(json);
  if (spec)
    readGradients(program, *spec);
  return spec;
}

} // namespace attnc
