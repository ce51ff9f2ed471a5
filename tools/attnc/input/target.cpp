#include "tools/attnc/input/target.h"
#include "compiler/frontend/text/suggest.h"
#include "compiler/schedule/model/gpu_model.h"
#include "tools/attnc/output/failure.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli {

const char *const targetHelp =
    "cpu, native for the GPU of this machine, or an architecture such as sm_80 or sm_90a; without "
    "it the GPU of this machine if there is one, else the CPU";

const char *const interpretHelp =
    "Run the kernels of a GPU target on the processor, in adversarial orders of warps and "
    "asynchronous ops: slow, for small shapes, finds races; without --target those for the GPU of "
    "this machine, or for sm_90a if there is none";

std::vector<std::string> targetNames() {
  std::vector<std::string> names = {"cpu", "native"};
  for (const schedule::GpuModel &machine : schedule::gpuModels())
    names.push_back(machine.name.str());
  return names;
}

namespace {

int capabilityOf(const DeviceProperties &device) { return 10 * device.major + device.minor; }

/// The compute capability of "sm_90a", 90.
int capabilityOf(const std::string &target) { return std::stoi(target.substr(3)); }

/// Whether code for `target` runs on `device`: for a name with a suffix only on that architecture,
/// otherwise on it and on later ones, through PTX.
bool runs(const std::string &target, const DeviceProperties &device) {
  bool oneOnly = target.back() == 'a' || target.back() == 'f';
  return oneOnly ? capabilityOf(device) == capabilityOf(target)
                 : capabilityOf(device) >= capabilityOf(target);
}

/// The GPU of this machine if there is a target for it.
std::shared_ptr<const CudaDevice> openDevice() {
  Result<int> count = cudaDeviceCount();
  if (!count || *count == 0)
    return nullptr;
  Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(0);
  if (!device || targetOf((*device)->properties()).empty())
    return nullptr;
  return std::shared_ptr<const CudaDevice>(std::move(*device));
}

/// Why no GPU can be used.
std::string whyNoDevice() {
  Result<int> count = cudaDeviceCount();
  if (!count)
    return count.error().message;
  if (*count == 0)
    return "there is none";
  Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(0);
  return device ? fmt::format("the {} is older than all targets", (*device)->properties().name)
                : device.error().message;
}

} // namespace

std::string targetOf(const DeviceProperties &device) {
  std::string best;
  for (const schedule::GpuModel &machine : schedule::gpuModels()) {
    std::string name = machine.name.str();
    if (runs(name, device) &&
        (best.empty() || std::pair(capabilityOf(name), name) > std::pair(capabilityOf(best), best)))
      best = name;
  }
  return best;
}

static void checkName(const std::string &asked) {
  std::vector<std::string> known = targetNames();
  if (!asked.empty() && std::find(known.begin(), known.end(), asked) == known.end())
    throw Failure(
        Usage, fmt::format("there is no target '{}'", asked),
        didYouMean(asked, known, fmt::format("the targets are {}", fmt::join(known, ", "))));
}

Target chooseCompiledTarget(const std::string &asked) {
  checkName(asked);
  return asked.empty() || asked == "native" ? chooseTarget(asked) : Target{asked, nullptr};
}

Target chooseTarget(const std::string &asked) {
  checkName(asked);
  if (asked == "cpu")
    return {"cpu", nullptr};
  std::shared_ptr<const CudaDevice> device = openDevice();
  if (asked == "native" && !device)
    throw Failure(Environment,
                  fmt::format("the target native is the GPU of this machine: {}", whyNoDevice()),
                  "use --target cpu, or see `attnc doctor`; `attnc compile` needs no GPU for an "
                  "architecture that is named, as in --target sm_90a");
  if (asked.empty() || asked == "native")
    return device ? Target{targetOf(device->properties()), device} : Target{"cpu", nullptr};
  if (device && !runs(asked, device->properties()))
    device = nullptr;
  return {asked, std::move(device)};
}

Target chooseRunnableTarget(const std::string &asked) {
  Target target = chooseTarget(asked);
  if (target.isCpu() || target.device)
    return target;
  if (std::shared_ptr<const CudaDevice> other = openDevice())
    throw Failure(Environment,
                  fmt::format("code for {} does not run on the GPU here, a {} ({})", target.name,
                              other->properties().name, other->properties().architecture()),
                  "use --target native");
  throw Failure(Environment,
                fmt::format("the target {} needs a GPU to run: {}", target.name, whyNoDevice()),
                "use --target cpu, or see `attnc doctor`; `attnc compile` needs no GPU");
}

Target chooseInterpretedTarget(const std::string &asked) {
  Target target = chooseTarget(asked);
  if (asked == "cpu")
    throw Failure(Usage, "--interpret runs the kernels of a GPU target, and the target is the cpu",
                  "give --target sm_90a, or leave --interpret out");
  if (target.isCpu())
    target.name = llvm::find_if(schedule::gpuModels(), [](auto &machine) {
                    return machine.warpgroups;
                  })->name.str();
  target.device = nullptr;
  target.interpreted = true;
  return target;
}

std::shared_ptr<const ImageCompiler> imagesFor(const Target &target) {
  return target.isCpu() || target.interpreted ? nullptr : ImageCompiler::ofUser();
}

} // namespace attnc::cli
