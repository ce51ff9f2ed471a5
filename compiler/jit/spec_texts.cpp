#include "compiler/jit/spec_texts.h"
#include "compiler/driver/check.h"
#include "compiler/driver/spec_hints.h"
#include "compiler/evaluator/evaluator.h"
#include "compiler/explain/text.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace attnc {

// The text with the spec's name for its file, where a place follows.
static std::string withoutFolder(StringRef text, const Spec &spec, StringRef mark) {
  auto place = spec.module.get()->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!place)
    place = driver::programOf(spec)->getLoc()->findInstanceOf<FileLineColLoc>();
  if (!place)
    return text.str();
  std::string file = place.getFilename().str() + mark.str() + ":", result;
  for (size_t at; (at = text.find(file)) != StringRef::npos;) {
    StringRef rest = text.substr(at + file.size());
    bool isPlace = !rest.empty() && llvm::isDigit(rest.front());
    result += text.substr(0, at);
    result += isPlace ? spec.name + mark.str() + ":" : file;
    text = rest;
  }
  return result + text.str();
}

void addSpec(const Spec &spec, Program &program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  spec.module.get()->print(out, OpPrintingFlags().enableDebugInfo());
  program.sources.push_back({specText, withoutFolder(text, spec, "\"")});
  program.sources.push_back({referenceText, spec.reference.dump()});
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
  sources.push_back({explanationText, withoutFolder(explainText(explanation), spec, "")});
  sources.push_back(
      {explanationJson,
       withoutFolder(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), spec,
                     "")});
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
  return spec;
}

} // namespace attnc
