#include "compiler/driver/images/host_code.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc::driver {

Result<std::shared_ptr<const cpu::CpuExecutable>> loadForHost(const Program &program) {
  std::vector<std::string> symbols;
  const Image *object = nullptr;
  for (const KernelDecl &kernel : program.manifest.kernels) {
    symbols.push_back(kernel.symbol);
    const Image *found = program.findImage(kernel.image, ImageKind::Object);
    if (!found || (object && object != found))
      return invalidArgument(
          fmt::format("kernel {}: the program has no code for the processor", kernel.name),
          "compile the spec with --target cpu");
    object = found;
  }
  std::vector<std::string> lacking = cpu::lackingHere(program.processor);
  if (!lacking.empty())
    return invalidArgument(
        fmt::format("the program {} was compiled for another processor: this one has no {}",
                    program.manifest.name, fmt::join(lacking, ", ")),
        "compile the spec on this machine");
  auto code = cpu::CpuExecutable::load(object ? object->bytes : llvm::StringRef(), symbols);
  if (!code)
    return invalidArgument(fmt::format("the code of the program {} does not load: {}",
                                       program.manifest.name, llvm::toString(code.takeError())),
                           "compile the spec again");
  return std::shared_ptr<const cpu::CpuExecutable>(std::move(*code));
}

} // namespace attnc::driver
