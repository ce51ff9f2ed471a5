// Machine code for the kernels of a program, and of its variants in parts.
#ifndef ATTNC_COMPILER_DRIVER_IMAGES_BUILD_IMAGES_H
#define ATTNC_COMPILER_DRIVER_IMAGES_BUILD_IMAGES_H

#include "compiler/driver/kernels/nest_kernels.h"
#include <optional>

namespace attnc::driver {

/// A kernel of one of several programs.
struct KernelOf {
  NestKernels *program;
  size_t number;

  bool operator==(const KernelOf &) const = default;
  const NestReport &report() const { return program->report(number); }
  std::string image() const { return program->image(number); }
  const std::string &symbol() const { return program->symbol(number); }
  int64_t code() const { return program->code(number); }
};

/// Builds the kernels of programs that run beside each other. Not thread-safe.
class ImageBuild {
public:
  /// Kernels that are equal but for names, in one program or in several, have one image: that of
  /// the first. Those of all programs but the first may wait: `othersWait` leaves out their images.
  ImageBuild(std::vector<NestKernels *> programs, bool othersWait);

  /// Compiles all that does not wait, side by side and the largest first, so that none of them is
  /// left to the end; then those again that spilled and have become smaller, and the first
  /// program's kernels that copy. `watch` may be null.
  Status run(const ImageCompiler &images, const std::string &target, CompileWatch *watch);

  /// The kernel whose image holds that of a nest.
  KernelOf firstOf(const NestKernels &program, size_t number) const;
  /// The kernels that were left out.
  const std::vector<KernelOf> &waiting() const { return left; }

  NvrtcOutput copies;           ///< the image of the kernels that copy
  double waitSeconds = 0;       ///< wall-clock time in NVRTC and the cache
  double kernelSeconds = 0;     ///< how long each kernel took NVRTC, summed
  int compiled = 0, cached = 0; ///< images, by NVRTC and without it
  int repeats = 0;              ///< kernels compiled once more because they spilled

private:
  Result<std::vector<KernelOf>> buildOnce(const ImageCompiler &images, const std::string &target,
                                          const std::vector<KernelOf> &builds, bool withCopies,
                                          CompileWatch *watch);
  Status followFirsts();

  std::vector<NestKernels *> programs;
  std::map<const NestKernels *, std::map<size_t, KernelOf>> firsts; // of each number
  std::vector<KernelOf> builds, left;
};

} // namespace attnc::driver

#endif
