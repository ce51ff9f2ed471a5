// attnc doctor: what works on this machine, and what to install for the rest.
#include "runtime/cache/user_store.h"
#include "runtime/program/byte_count.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/target.h"
#include "tools/attnc/output/remote_finding.h"
#include "tools/attnc/output/terminal.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include <fmt/format.h>
#include <thread>

namespace attnc::cli {

namespace {

/// One thing that is looked at. `works` is empty where it says nothing about what works.
struct Finding {
  std::string subject;
  std::optional<bool> works;
  std::string text;
  std::string remedy;
};

Finding examineCpu() {
  std::vector<std::string> features;
  llvm::StringMap<bool> all = llvm::sys::getHostCPUFeatures();
  for (const char *name : {"avx2", "fma", "f16c", "avx512f", "avx512bf16", "avx512fp16", "amx-bf16",
                           "neon", "sve", "bf16"})
    if (all.lookup(name))
      features.push_back(name);
  return {"cpu", true,
          fmt::format("{}, {} threads, {}", llvm::sys::getHostCPUName().str(),
                      std::thread::hardware_concurrency(),
                      features.empty() ? "no vector features that attnc looks for"
                                       : fmt::format("{}", fmt::join(features, " "))),
          ""};
}

std::string versionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<Finding> examineGpus() {
  Result<int> count = cudaDeviceCount();
  if (!count)
    return {{"gpu", false, count.error().message, count.error().remedy}};
  if (*count == 0)
    return {{"gpu", false, "the driver is there, but no GPU",
             "check CUDA_VISIBLE_DEVICES and `nvidia-smi`"}};
  std::vector<Finding> findings;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    std::string subject = fmt::format("gpu {}", ordinal);
    Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(ordinal);
    if (!device) {
      findings.push_back({subject, false, device.error().message, device.error().remedy});
      continue;
    }
    const DeviceProperties &found = (*device)->properties();
    std::string target = targetOf(found);
    findings.push_back(
        {subject, !target.empty(),
         fmt::format("{}, {}, {} multiprocessors, {:.0f} GiB, driver for CUDA {}, target {}",
                     found.name, found.architecture(), found.multiprocessors,
                     found.memoryBytes / double(1 << 30), versionText(found.driverVersion),
                     target.empty() ? "none" : target),
         target.empty() ? "attnc needs compute capability 8.0 or newer: use --target cpu" : ""});
  }
  return findings;
}

Finding examineNvrtc() {
  Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::open();
  if (!nvrtc)
    return {"nvrtc", false, nvrtc.error().message, nvrtc.error().remedy};
  std::vector<std::string> names;
  for (int architecture : (*nvrtc)->architectures())
    if (architecture >= 80)
      names.push_back(fmt::format("sm_{}", architecture));
  return {"nvrtc", true,
          fmt::format("{}.{} at {}, for {}", (*nvrtc)->versionMajor(), (*nvrtc)->versionMinor(),
                      (*nvrtc)->path(), fmt::join(names, " ")),
          ""};
}

Finding examineCache() {
  std::optional<cache::StoreOptions> options = cache::userStoreOptions();
  if (!options)
    return {"cache", std::nullopt, "off: ATTNC_CACHE says so, or there is no home", ""};
  Result<std::shared_ptr<cache::Store>> store = cache::Store::open(*options);
  if (!store)
    return {"cache", false, store.error().message, store.error().remedy};
  Status writes = cache::tryToWrite(*(*store)->folder());
  cache::StoreUsage usage = (*store)->stats().total();
  std::string text = fmt::format("{}, {} entries, {} of {}", options->directory.string(),
                                 usage.entries, bytesText(static_cast<double>(usage.bytes)),
                                 bytesText(static_cast<double>(options->maxBytes)));
  return {"cache", writes.ok(), writes ? text : text + "; " + writes.error().message,
          writes ? "" : writes.error().remedy};
}

/// What the findings mean for the commands.
std::string conclusion(bool gpu, bool nvrtc) {
  if (gpu && nvrtc)
    return "Everything works: compile, run and check on the GPU and on the CPU.";
  if (nvrtc)
    return "compile works for all targets; run and check work with --target cpu.";
  if (gpu)
    return "run and check work with --target cpu; for the GPU NVRTC is missing. compile works up "
           "to "
           "--emit cuda.";
  return "run and check work with --target cpu; compile works up to --emit cuda.";
}

void printFinding(const Finding &finding) {
  bool colour = colourOnStdout();
  std::string mark = !finding.works   ? "  "
                     : *finding.works ? styled("ok", Style::Green, colour)
                                      : styled("--", Style::Yellow, colour);
  print(fmt::format("{} {:<6} {}\n", mark, finding.subject, finding.text));
  if (!finding.remedy.empty())
    print(fmt::format("          {}\n", finding.remedy));
}

ExitCode examine(bool json) {
  std::vector<Finding> findings = {{"attnc", std::nullopt, ATTNC_VERSION, ""}, examineCpu()};
  bool gpu = false;
  for (Finding &finding : examineGpus()) {
    gpu |= finding.works.value_or(false);
    findings.push_back(std::move(finding));
  }
  findings.push_back(examineNvrtc());
  bool nvrtc = findings.back().works.value_or(false);
  findings.push_back(examineCache());
  for (const RemoteFinding &finding : examineRemote())
    findings.push_back({"remote", finding.works, finding.text, finding.remedy});
  if (!json) {
    for (const Finding &finding : findings)
      printFinding(finding);
    print("\n" + conclusion(gpu, nvrtc) + "\n");
    return Done;
  }
  nlohmann::ordered_json all = {{"ok", true}, {"summary", conclusion(gpu, nvrtc)}};
  for (const Finding &finding : findings) {
    nlohmann::ordered_json one = {{"subject", finding.subject}, {"text", finding.text}};
    if (finding.works)
      one["works"] = *finding.works;
    if (!finding.remedy.empty())
      one["remedy"] = finding.remedy;
    all["findings"].push_back(one);
  }
  printJson(all);
  return Done;
}

} // namespace

Command addDoctorCommand(CLI::App &tool) {
  auto json = std::make_shared<bool>(false);
  CLI::App *app =
      tool.add_subcommand("doctor", "What works on this machine, and what to install for the rest");
  app->add_flag("--json", *json, "As JSON on stdout");
  app->footer("Example: attnc doctor");
  return {app, [json] { return examine(*json); }};
}

} // namespace attnc::cli
