// Compiles specs one after the other, for a tool that counts what each takes.
//
// usage: compile_each TARGET=SPEC.json...
// Prints a line for each: the bytes of its CUDA C++.
#include "compiler/driver/compile.h"
#include "kernels_spec/library.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace attnc;

// What a caller of attnc waits for before NVRTC begins, without schedules that were measured: so
// that ranking is part of it.
static Result<driver::Compilation> compile(const std::string &text, llvm::StringRef path,
                                           const std::string &target) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec(context, path, text, {}, diagnostics, libraryBases());
  if (!spec)
    return Error{ErrorKind::Spec, "the spec has errors", ""};
  driver::CompileOptions options;
  options.target = target;
  options.upTo = driver::Stage::Cuda;
  options.keepTexts = false;
  options.parts = driver::SplitVariant::Built;
  return driver::compile(*spec, options);
}

// Its name is what check_budget.py counts in.
extern "C" __attribute__((noinline)) bool compileOne(const std::string &text,
                                                     const std::string &path,
                                                     const std::string &target,
                                                     std::size_t &bytes) {
  Result<driver::Compilation> compilation = compile(text, path, target);
  if (!compilation) {
    llvm::errs() << path << ": " << compilation.error().text() << "\n";
    return false;
  }
  for (const driver::NestReport &nest : compilation->nests)
    bytes += nest.source.size();
  return true;
}

int main(int argc, char **argv) {
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    auto [target, path] = argument.split('=');
    auto file = llvm::MemoryBuffer::getFile(path);
    std::size_t bytes = 0;
    if (!file || !compileOne((*file)->getBuffer().str(), path.str(), target.str(), bytes)) {
      llvm::errs() << argument << " is not compiled\n";
      return 1;
    }
    llvm::outs() << bytes << "\n";
  }
  return 0;
}
