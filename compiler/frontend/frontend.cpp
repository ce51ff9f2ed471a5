#include "compiler/frontend/frontend.h"
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/source_limits.h"
#include "compiler/frontend/text/extended_spec.h"
#include "llvm/Support/Path.h"

namespace attnc {

std::optional<Spec> parseSpec(mlir::MLIRContext &context, llvm::StringRef fileName,
                              llvm::StringRef text, const Overrides &overrides,
                              Diagnostics &diagnostics, const SpecBases &bases) {
  context.loadDialect<attn::AttnDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  if (!checkSourceSize(fileName, text, diagnostics))
    return std::nullopt;
  unsigned before = diagnostics.errorCount();
  SourceFile file(fileName, text);
  std::optional<JsonValue> root = readExtendedSpec(file, bases, diagnostics);
  if (!root)
    return std::nullopt;
  auto spec = ProgramBuilder(context, file, *root, overrides, diagnostics).build();
  if (!spec || diagnostics.errorCount() != before)
    return std::nullopt;
  spec->fileName = llvm::sys::path::filename(fileName);
  if (!file.extendsFiles())
    spec->text = text;
  spec->overrides = overrides;
  return spec;
}

std::optional<nlohmann::ordered_json> wholeSpec(llvm::StringRef fileName, llvm::StringRef text,
                                                const SpecBases &bases, Diagnostics &diagnostics) {
  SourceFile file(fileName, text);
  std::optional<JsonValue> root = readExtendedSpec(file, bases, diagnostics);
  if (!root)
    return std::nullopt;
  nlohmann::ordered_json whole = root->toJson();
  whole.erase("extends");
  return whole;
}

} // namespace attnc
