// libFuzzer target of the spec parser: any bytes give a verified program or a located error.
#include "compiler/frontend/frontend.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include <cstdlib>

// LLVM's own code is not instrumented, so what it poisons or annotates must not be reported.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}

/// Ends the run with a message, which libFuzzer reports together with the input.
static void require(bool condition, const char *what) {
  if (condition)
    return;
  llvm::errs() << "violated: " << what << "\n";
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  attnc::Diagnostics findings;
  std::optional<attnc::Spec> spec = attnc::parseSpec(context, "fuzz.json", text, {}, findings);
  require(spec.has_value() != findings.hasErrors(), "a program, or errors");
  if (spec)
    require(succeeded(mlir::verify(*spec->module)), "the program verifies");
  for (const attnc::Diagnostic &d : findings.all()) {
    require(d.line >= 1 && d.column >= 1, "every finding has a place");
    require(d.caretOffset <= d.expression.size(), "the caret is in the expression");
    require(!llvm::StringRef(d.message).contains("internal error"), "no internal error");
  }
  std::string shown;
  llvm::raw_string_ostream os(shown);
  findings.render(os, /*colour=*/true);
  require(findings.toJson().dump().size() > 0, "findings are JSON");
  return 0;
}
