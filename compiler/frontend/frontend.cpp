#include "compiler/frontend/frontend.h"
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/source_limits.h"
#include "compiler/frontend/text/statement_lines.h"
#include "llvm/Support/Path.h"

namespace attnc {

std::optional<Spec> parseSpec(mlir::MLIRContext &context, llvm::StringRef fileName,
                              llvm::StringRef text, const Overrides &overrides,
                              Diagnostics &diagnostics) {
  context.loadDialect<attn::AttnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  if (!checkSourceSize(fileName, text, diagnostics))
    return std::nullopt;
  unsigned before = diagnostics.errorCount();
  SourceFile file(fileName, text);
  std::optional<JsonValue> root = parseJson(file, diagnostics);
  if (!root)
    return std::nullopt;
  joinStatementLines(*root);
  auto spec = ProgramBuilder(context, file, *root, overrides, diagnostics).build();
  if (!spec || diagnostics.errorCount() != before)
    return std::nullopt;
  spec->fileName = llvm::sys::path::filename(fileName);
  spec->text = text;
  spec->overrides = overrides;
  return spec;
}

} // namespace attnc
