// What --target means on this machine.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_TARGET_H
#define ATTNC_TOOLS_ATTNC_INPUT_TARGET_H

#include "runtime/cuda/driver.h"
#include "runtime/cuda/image_compiler.h"
#include <memory>
#include <string>
#include <vector>

namespace attnc::cli {

/// A target, with the GPU that can run it if there is one here.
struct Target {
  std::string name; ///< "cpu", "sm_80", "sm_90a", ...
  std::shared_ptr<const CudaDevice> device;
  /// The kernels run in the tile interpreter: no GPU and no NVRTC is needed.
  bool interpreted = false;

  bool isCpu() const { return name == "cpu"; }
};

/// What --target takes.
std::vector<std::string> targetNames();

/// The target that `asked` names: "cpu", an architecture, "native" for the GPU of this machine, or
/// "" for that if there is one and the processor if not. Failure (Usage): unknown, with the
/// nearest. Failure (Environment): "native", and there is no GPU.
Target chooseTarget(const std::string &asked);

/// The same for a command that runs nothing: a GPU is looked for only where none is named, because
/// to open one takes a fifth of a second.
Target chooseCompiledTarget(const std::string &asked);

/// The same for a command that runs kernels. Failure (Environment): no GPU here runs this target.
Target chooseRunnableTarget(const std::string &asked);

/// The same for the tile interpreter, which runs the kernels of any GPU target; for "" where there
/// is no GPU it is the one with warpgroups, whose kernels have the most to go wrong. Failure
/// (Usage): `asked` is "cpu".
Target chooseInterpretedTarget(const std::string &asked);

/// What makes the images of the target's kernels, with the user's cache; null if it has none.
std::shared_ptr<const ImageCompiler> imagesFor(const Target &target);

/// The best target for a GPU: that of its own architecture, with its specific features, if there is
/// one, else the newest older one. Empty if there is none: it is older than all.
std::string targetOf(const DeviceProperties &device);

extern const char *const targetHelp;
extern const char *const interpretHelp;

} // namespace attnc::cli

#endif
