// Several sources compiled at the same time.
#ifndef ATTNC_COMPILER_DRIVER_IMAGES_SIDE_BY_SIDE_H
#define ATTNC_COMPILER_DRIVER_IMAGES_SIDE_BY_SIDE_H

#include "compiler/driver/compile_watch.h"
#include "runtime/cuda/image_compiler.h"
#include <string>
#include <vector>

namespace attnc::driver {

/// What NVRTC is asked for: the source of kernels, which includes device headers, for a target. The
/// source is called after its image in diagnostics.
NvrtcRequest requestFor(const std::string &target, const std::string &source,
                        const std::string &image);

/// Compiles every request, on as many threads as the machine has processors or `watch` (or null)
/// allows, and returns what became of each, in the order of the requests: the result does not
/// depend on which one was first. Where there can be no further thread, those that there are do all
/// the work. When the time of `watch` is over, NVRTC stops, and what is not compiled yet has its
/// error.
std::vector<Result<NvrtcOutput>> compileSideBySide(const ImageCompiler &images,
                                                   const std::vector<NvrtcRequest> &requests,
                                                   CompileWatch *watch = nullptr);

} // namespace attnc::driver

#endif
