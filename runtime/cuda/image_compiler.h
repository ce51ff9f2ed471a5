#pragma once

/// CUDA C++ to machine code, once: the only way to NVRTC for what is compiled for use.

#include "runtime/cache/store.h"
#include "runtime/cuda/nvrtc.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace attnc {

/// What was compiled before comes from the cache; NVRTC is loaded when an image is missing, and not
/// before. Where there is no NVRTC, images that any NVRTC has made are good. Thread-safe.
class ImageCompiler {
public:
  /// Null: nothing is kept.
  explicit ImageCompiler(std::shared_ptr<cache::Store> store = nullptr) : store(std::move(store)) {}

  /// With the cache of this user.
  static std::shared_ptr<const ImageCompiler> ofUser();

  /// As Nvrtc::compile, and calls compile at the same time. Threads and processes that ask for the
  /// same image wait for the one that makes it. Nothing is kept of what does not compile. Errors:
  /// those of Nvrtc::open, where it is needed, and of Nvrtc::compile. Who waits for another process
  /// waits however `stop` is.
  Result<NvrtcOutput> compile(const NvrtcRequest &request,
                              const StopCompiling &stop = nullptr) const;

  /// NVRTC, loaded if it is not yet; it lives as long as the object. Errors: those of Nvrtc::open.
  Result<const Nvrtc *> nvrtc() const;

  /// Of the NVRTC that is loaded, or else of the file that would be; empty if there is none.
  std::string identity() const;

private:
  /// Without the cache, but for what others have made where there is no NVRTC.
  Result<NvrtcOutput> compileOnly(const NvrtcRequest &request,
                                  const std::optional<std::string> &content,
                                  const StopCompiling &stop) const;
  /// With the cache, if NVRTC is the one with this identity; else an error (Environment).
  Result<NvrtcOutput> compileOnce(const NvrtcRequest &request, const std::string &content,
                                  const std::string &maker, const StopCompiling &stop) const;
  std::optional<NvrtcOutput> madeByAny(const std::string &content) const;

  const std::shared_ptr<cache::Store> store;
  mutable std::mutex mutex;
  mutable std::unique_ptr<const Nvrtc> opened;
  mutable std::optional<std::string> known; ///< the identity
};

} // namespace attnc
