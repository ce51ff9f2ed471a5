#include "compiler/schedule/model/gpu_model.h"
#include "llvm/ADT/STLExtras.h"

namespace attnc::schedule {

static constexpr int64_t kKiB = 1024;

// H100 SXM.
static constexpr Rates kHopper = {.multiprocessors = 132,
                                  .products = 2048,
                                  .special = 16,
                                  .lanes = 128,
                                  .sharedBytes = 128,
                                  .cacheBytes = 64,
                                  .memoryBytes = 14};

static constexpr GpuModel kGpuModels[] = {
    {"sm_80", 163 * kKiB, 164 * kKiB, 65536},
    {"sm_86", 99 * kKiB, 100 * kKiB, 65536},
    {"sm_87", 163 * kKiB, 164 * kKiB, 65536},
    {"sm_89", 99 * kKiB, 100 * kKiB, 65536},
    {"sm_90", 227 * kKiB, 228 * kKiB, 65536},
    {"sm_90a", 227 * kKiB, 228 * kKiB, 65536, 1024, 255, &kHopper},
    {"sm_100", 227 * kKiB, 228 * kKiB, 65536},
    {"sm_103", 227 * kKiB, 228 * kKiB, 65536},
    {"sm_120", 99 * kKiB, 100 * kKiB, 65536},
    {"sm_121", 99 * kKiB, 100 * kKiB, 65536},
};

llvm::ArrayRef<GpuModel> gpuModels() { return kGpuModels; }

const GpuModel *findGpuModel(llvm::StringRef target) {
  const GpuModel *found =
      llvm::find_if(kGpuModels, [&](const GpuModel &machine) { return machine.name == target; });
  return found == std::end(kGpuModels) ? nullptr : found;
}

bool waitsForLaunches(llvm::StringRef target) {
  unsigned capability = 0;
  return target.consume_front("sm_") && !target.consumeInteger(10, capability) && capability >= 90;
}

} // namespace attnc::schedule
