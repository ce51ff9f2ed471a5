#include "compiler/jit/open_program.h"
#include "compiler/driver/entries.h"
#include "compiler/driver/images/host_code.h"
#include "compiler/jit/build_id.h"
#include <set>

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

void addTexts(const Compilation &compilation, const std::string &prefix, Program &program) {
  for (auto [name, member] : texts)
    if (!(compilation.*member).empty() && !program.findSource(prefix + name))
      program.sources.push_back({prefix + name, compilation.*member});
}

/// The images that wait for its first use. The program may be an entry point of another, with
/// which it shares what waits.
std::vector<std::string> waitingImages(const Compilation &compilation) {
  std::set<std::string> named;
  auto addKernels = [&](const Manifest &manifest) {
    for (const KernelDecl &kernel : manifest.kernels)
      named.insert(kernel.image);
  };
  addKernels(compilation.program.manifest);
  for (const Entry &entry : compilation.program.entries)
    addKernels(entry.manifest);
  std::vector<std::string> names = compilation.deferred->names();
  std::erase_if(names, [&](const std::string &name) { return !named.contains(name); });
  return names;
}

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
  if (!program.entries.empty()) {
    Result<Program> backward = driver::entryOf(program, driver::backwardEntry);
    Result<Compilation> compiled =
        backward ? openProgram(*std::move(backward), images) : backward.error();
    if (!compiled)
      return compiled.error();
    opened.backward = std::make_shared<const Compilation>(*std::move(compiled));
  }
  opened.deferred = driver::deferredImagesOf(program, std::move(images));
  opened.program = std::move(program);
  return opened;
}

Status warmUp(const Compilation &compilation) {
  if (!compilation.deferred)
    return {};
  Result<std::vector<Image>> made = compilation.deferred->images(waitingImages(compilation));
  return made ? Status() : made.error();
}

Program storable(const Compilation &compilation) {
  Program program = compilation.program;
  program.build = buildId();
  addTexts(compilation, "", program);
  if (compilation.backward)
    addTexts(*compilation.backward, driver::textPrefix(driver::backwardEntry), program);
  return program;
}

Result<Program> completed(const Compilation &compilation, driver::CompileWatch *watch) {
  Program program = storable(compilation);
  if (!compilation.deferred)
    return program;
  Result<std::vector<Image>> made = compilation.deferred->images(waitingImages(compilation), watch);
  if (!made)
    return made.error();
  std::erase_if(program.images, [](const Image &image) { return image.kind == ImageKind::Cuda; });
  for (Image &image : *made)
    program.images.push_back(std::move(image));
  auto addNotes = [&](Manifest &manifest) {
    for (KernelDecl &kernel : manifest.kernels)
      if (const std::string *note = compilation.deferred->note(kernel.image))
        kernel.notes = *note;
  };
  addNotes(program.manifest);
  for (Entry &entry : program.entries)
    addNotes(entry.manifest);
  return program;
}

} // namespace attnc
