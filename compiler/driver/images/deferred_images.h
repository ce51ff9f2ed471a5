// Kernels that are compiled when a launch first needs them.
#ifndef ATTNC_COMPILER_DRIVER_IMAGES_DEFERRED_IMAGES_H
#define ATTNC_COMPILER_DRIVER_IMAGES_DEFERRED_IMAGES_H

#include "compiler/driver/compile_watch.h"
#include "runtime/cuda/image_compiler.h"
#include "runtime/program/program.h"
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace attnc::driver {

/// Sources that wait to be compiled, each known by the name of its image, and what has become of
/// them. Thread-safe: whoever asks first compiles, in its own thread and others beside it, while
/// those who ask for the same wait.
class DeferredImages {
public:
  /// Compiles several sources, in any order; the results are in the order of the requests. The
  /// watch is that of who asks, or null.
  using Compile = std::function<std::vector<Result<NvrtcOutput>>(const std::vector<NvrtcRequest> &,
                                                                 CompileWatch *)>;

  /// `requests` are by the name of the image.
  DeferredImages(std::map<std::string, NvrtcRequest> requests, Compile compile);

  /// A cubin and a PTX for each of `names`: those that have not been made yet are compiled side by
  /// side, the others are as they were. Errors: (Internal) a name that nothing waits under;
  /// NVRTC's, for the first source that does not compile. What failed is tried again by the next
  /// who asks. `watch` may be null, and so it is for a launch.
  Result<std::vector<Image>> images(const std::vector<std::string> &names,
                                    CompileWatch *watch = nullptr);

  /// The names of all, compiled or not.
  std::vector<std::string> names() const;

  /// What there is to say of an image, one remark a line: ptxas's numbered remarks, and registers
  /// that kernels spill, since sizes that launches know already keep a smaller schedule out. Null
  /// until it has been compiled; then it stays where it is. Waits for whoever compiles.
  const std::string *note(const std::string &name) const;

private:
  const std::map<std::string, NvrtcRequest> requests;
  const Compile compile;
  mutable std::mutex mutex; // held while compiling
  std::map<std::string, NvrtcOutput> done;
  std::map<std::string, std::string> remarks;
};

/// The images of `program` that wait as sources (ImageKind::Cuda), compiled by `images`; null if
/// none waits.
std::shared_ptr<DeferredImages> deferredImagesOf(const Program &program,
                                                 std::shared_ptr<const ImageCompiler> images);

} // namespace attnc::driver

#endif
