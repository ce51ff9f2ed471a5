#include "tests/e2e/kernels/launch_faults.h"
#include "tests/e2e/kernels/ptx_entries.h"
#include "tools/attnc/output/launch_json.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::e2e {

static void compare(const Json &kernel, const PtxEntry &entry, std::vector<std::string> &faults) {
  auto differ = [&](const std::string &what, std::int64_t said, std::int64_t is) {
    if (said != is)
      faults.push_back(fmt::format("{}: {} is {}, in the PTX {}", entry.name, what, said, is));
  };
  differ("threads", kernel.at("threads"), entry.threads);
  const Json &parameters = kernel.at("parameters");
  differ("the number of parameters", static_cast<std::int64_t>(parameters.size()),
         static_cast<std::int64_t>(entry.parameters.size()));
  int end = 0;
  for (size_t i = 0; i < std::min(parameters.size(), entry.parameters.size()); ++i) {
    const PtxParameter &parameter = entry.parameters[i];
    int offset = (end + parameter.align - 1) / parameter.align * parameter.align;
    end = offset + parameter.bytes;
    differ(fmt::format("offset {}", i), parameters[i].at("offset"), offset);
    differ(fmt::format("bytes {}", i), parameters[i].at("bytes"), parameter.bytes);
  }
}

std::vector<std::string> launchFaults(const Program &program) {
  std::map<std::string, std::string> files;
  for (const KernelDecl &kernel : program.manifest.kernels)
    files[kernel.image] = kernel.image;
  std::vector<std::string> faults;
  const Json json = cli::launchJson(program.manifest, files);
  for (const Json &kernel : json.at("kernels")) {
    const Image *image = program.findImage(kernel.at("file").get<std::string>(), ImageKind::Ptx);
    if (!image)
      continue;
    std::string symbol = kernel.at("symbol");
    std::vector<PtxEntry> entries = ptxEntries(image->bytes);
    auto entry = std::find_if(entries.begin(), entries.end(),
                              [&](const PtxEntry &e) { return e.name == symbol; });
    if (entry == entries.end())
      faults.push_back(fmt::format("{}: {} has no entry of this name", symbol, image->name));
    else
      compare(kernel, *entry, faults);
  }
  return faults;
}

} // namespace attnc::e2e
