// Programs that are written in the attn dialect itself.
#include "compiler/frontend/bounds/check_reads.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/source_limits.h"
#include "compiler/frontend/text/json_source.h"
#include "compiler/frontend/text/nesting.h"
#include "dialects/Attn/Attn.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace mlir;

namespace attnc {

/// A finding at a location of MLIR, which may say that the text was made from another file.
static attnc::Diagnostic findingAt(Location location, const SourceFile &file, std::string message,
                                   std::string remedy = "") {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place)
    return file.at(0, std::move(message), std::move(remedy));
  if (place.getFilename() == file.name())
    return file.at(file.offset(place.getLine(), place.getColumn()), std::move(message),
                   std::move(remedy));
  attnc::Diagnostic d;
  d.file = place.getFilename().str();
  d.line = place.getLine();
  d.column = place.getColumn();
  d.message = std::move(message);
  d.remedy = std::move(remedy);
  return d;
}

static attnc::Diagnostic convert(mlir::Diagnostic &from, const SourceFile &file) {
  attnc::Diagnostic d = findingAt(from.getLocation(), file, from.str());
  d.severity = from.getSeverity() == DiagnosticSeverity::Error     ? attnc::Diagnostic::Error
               : from.getSeverity() == DiagnosticSeverity::Warning ? attnc::Diagnostic::Warning
                                                                   : attnc::Diagnostic::Note;
  return d;
}

using Report = llvm::function_ref<void(Operation *, std::string, std::string)>;

/// Whether an op divides by the integer 0, for which targets have no common result.
static bool dividesByZero(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::RemSIOp, arith::RemUIOp, attn::ModOp>(op) &&
         matchPattern(op->getOperand(1), m_Zero());
}

/// The dim that an op asks for and the program does not have, or null.
static StringAttr unknownDim(attn::ProgramOp program, Operation *op) {
  StringAttr dim;
  if (auto size = dyn_cast<attn::SizeOp>(op))
    dim = size.getDimAttr();
  else if (auto index = dyn_cast<attn::IndexOp>(op))
    dim = index.getDimAttr();
  return dim && !program.lookupDim(dim) ? dim : StringAttr();
}

static bool repeatsDim(attn::OutputOp output) {
  SmallVector<StringAttr> dims = attn::dimNames(output.getDims());
  llvm::SmallDenseSet<StringAttr> names(dims.begin(), dims.end());
  return names.size() != dims.size();
}

/// Reports what a verifier of one op cannot see.
static void checkOps(attn::ProgramOp program, Report report) {
  program.walk([&](Operation *op) {
    if (!isa<attn::AttnDialect, arith::ArithDialect, math::MathDialect>(op->getDialect()))
      report(op, "'" + op->getName().getStringRef().str() + "' is no op of the attn dialect",
             "the passes make the other dialects from it");
    else if (dividesByZero(op))
      report(op, "division by zero", "a constant divisor is another number than 0");
    else if (StringAttr unknown = unknownDim(program, op))
      report(op, "there is no dim '" + unknown.str() + "'",
             "the program's dims are listed at its top");
    else if (auto output = dyn_cast<attn::OutputOp>(op); output && repeatsDim(output))
      report(op, "an output has each of its dims once", "");
  });
}

/// Reports names that a caller could not tell apart, and limits that are no numbers.
static void checkInterface(attn::ProgramOp program, Report report) {
  llvm::StringSet<> tensors, params;
  auto take = [&](Operation *op, StringRef name, llvm::StringSet<> &names) {
    if (name.empty())
      report(op, "the name is empty", "the caller passes it by this name");
    else if (!names.insert(name).second)
      report(op, "the name '" + name.str() + "' is declared twice", "choose another name");
  };
  for (Operation &op : *program.getBodyBlock()) {
    if (auto input = dyn_cast<attn::InputOp>(op))
      take(&op, input.getName(), tensors);
    else if (auto output = dyn_cast<attn::OutputOp>(op))
      take(&op, output.getName(), tensors);
    auto param = dyn_cast<attn::ParamOp>(op);
    if (!param)
      continue;
    take(&op, param.getName(), params);
    for (std::optional<APFloat> limit : {param.getLower(), param.getUpper()})
      if (limit && !limit->isFinite())
        report(&op, "a limit of the param '" + param.getName().str() + "' is not finite",
               "leave out a side that has no limit");
  }
  if (program.getBodyBlock()->getOps<attn::OutputOp>().empty())
    report(program, "the program has no attn.output", "name what the caller is to receive");
}

/// False if there was something to report.
static bool checkProgram(attn::ProgramOp program, const SourceFile &file,
                         Diagnostics &diagnostics) {
  auto report = [&](Operation *op, std::string message, std::string remedy) {
    diagnostics.add(findingAt(op->getLoc(), file, std::move(message), std::move(remedy)));
  };
  unsigned before = diagnostics.errorCount();
  checkOps(program, report);
  if (diagnostics.errorCount() == before)
    checkInterface(program, report);
  if (diagnostics.errorCount() == before)
    for (UnprovenRead &unproven : unprovenReads(program))
      report(unproven.read, std::move(unproven.message), std::move(unproven.remedy));
  return diagnostics.errorCount() == before;
}

std::optional<Spec> parseAttnFile(MLIRContext &context, StringRef fileName, StringRef text,
                                  Diagnostics &diagnostics) {
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect>();
  if (!checkSourceSize(fileName, text, diagnostics))
    return std::nullopt;
  SourceFile file(fileName, text);
  if (isBytecode(llvm::MemoryBufferRef(text, fileName))) { // which is trusted by its reader
    diagnostics.add(file.at(0, "the file is MLIR's bytecode, not text",
                            "`attnc compile SPEC --emit attn` writes text"));
    return std::nullopt;
  }
  if (!checkNesting(file, diagnostics))
    return std::nullopt;
  unsigned before = diagnostics.errorCount();
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    diagnostics.add(convert(d, file));
    return success();
  });
  Spec spec;
  spec.module = parseSourceString<ModuleOp>(text, ParserConfig(&context), fileName);
  if (!spec.module) {
    if (diagnostics.errorCount() == before)
      diagnostics.add(file.at(0, "not a program in the attn dialect",
                              "`attnc compile SPEC --emit attn` prints that of a spec"));
    return std::nullopt;
  }
  auto programs = llvm::to_vector(spec.module->getOps<attn::ProgramOp>());
  if (programs.size() != 1) {
    diagnostics.add(file.at(
        0, "the file holds " + std::to_string(programs.size()) + " attn.program ops, one is needed",
        "keep one of them, or write each to a file of its own"));
    return std::nullopt;
  }
  if (!checkProgram(programs[0], file, diagnostics))
    return std::nullopt;
  spec.name = programs[0].getSymName().str();
  spec.doc = programs[0].getDoc().value_or("").str();
  return std::move(spec);
}

} // namespace attnc
