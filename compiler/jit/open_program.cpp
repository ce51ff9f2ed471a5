#include "compiler/jit/open_program.h"
#include "compiler/driver/images/host_code.h"
#include "compiler/jit/build_id.h"

namespace attnc {

using driver::Compilation;

namespace {

/// The texts of a compilation, by the names that they have in a program.
constexpr std::pair<const char *, std::string Compilation::*> texts[] = {
    {"attn.mlir", &Compilation::attn},
    {"red.mlir", &Compilation::red},
    {"tile.mlir", &Compilation::tile},
    {"llvm.ll", &Compilation::llvm},
};

} // namespace

Result<Compilation> openProgram(Program program, std::shared_ptr<const ImageCompiler> images) {
  Compilation opened;
  opened.target = program.manifest.target;
  opened.name = program.manifest.name;
  if (opened.target == "cpu") {
    Result<std::shared_ptr<const cpu::CpuExecutable>> code = driver::loadForHost(program);
    if (!code)
      return code.error();
    opened.cpu = *std::move(code);
  }
  for (auto [name, member] : texts)
    if (const Source *source = program.findSource(name))
      opened.*member = source->text;
  opened.deferred = driver::deferredImagesOf(program, std::move(images));
  opened.program = std::move(program);
  return opened;
}

Status warmUp(const Compilation &compilation) {
  if (!compilation.deferred)
    return {};
  Result<std::vector<Image>> made = compilation.deferred->images(compilation.deferred->names());
  return made ? Status() : made.error();
}

Program storable(const Compilation &compilation) {
  Program program = compilation.program;
  program.build = buildId();
  for (auto [name, member] : texts)
    if (!(compilation.*member).empty() && !program.findSource(name))
      program.sources.push_back({name, compilation.*member});
  return program;
}

Result<Program> completed(const Compilation &compilation, driver::CompileWatch *watch) {
  Program program = storable(compilation);
  if (!compilation.deferred)
    return program;
  Result<std::vector<Image>> made =
      compilation.deferred->images(compilation.deferred->names(), watch);
  if (!made)
    return made.error();
  std::erase_if(program.images, [](const Image &image) { return image.kind == ImageKind::Cuda; });
  for (Image &image : *made)
    program.images.push_back(std::move(image));
  for (KernelDecl &kernel : program.manifest.kernels)
    if (const std::string *note = compilation.deferred->note(kernel.image))
      kernel.notes = *note;
  return program;
}

} // namespace attnc
