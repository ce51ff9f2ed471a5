#include "compiler/frontend/frontend.h"
#include "kernels_spec/library.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "tests/fuzz/properties.h"
#include <algorithm>

namespace attnc::fuzz {

namespace {

Violation checkFinding(const Diagnostic &d, llvm::StringRef text) {
  size_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  if (d.line < 1 || d.line > lines || d.column < 1 || d.column > text.size() + 1)
    return ("a finding is at " + llvm::Twine(d.line) + ":" + llvm::Twine(d.column) +
            ", outside the text: " + d.message)
        .str();
  if (d.caretOffset > d.expression.size())
    return "the caret is outside the expression: " + d.message;
  if (d.message.empty() || d.remedy.empty())
    return "a finding lacks its message or what would be right: " + d.message;
  // A message quotes names, so the text itself may hold these words.
  if (llvm::StringRef(d.message).contains("internal error") && !text.contains("internal error"))
    return d.message;
  return std::nullopt;
}

} // namespace

Violation checkParser(llvm::StringRef text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Diagnostics findings;
  std::optional<Spec> spec = parseSpec(context, "fuzz.json", text, {}, findings, libraryBases());
  if (spec.has_value() == findings.hasErrors())
    return spec ? "a program in spite of errors" : "neither a program nor an error";
  if (spec && failed(mlir::verify(*spec->module)))
    return "the program does not verify";
  for (const Diagnostic &d : findings.all())
    if (Violation violation = checkFinding(d, text))
      return violation;
  std::string shown;
  llvm::raw_string_ostream os(shown);
  findings.render(os, /*colour=*/true);
  if (findings.toJson().dump().empty()) // dump throws at what is no UTF-8
    return "findings are no JSON";
  return std::nullopt;
}

} // namespace attnc::fuzz
