#pragma once

/// CUDA C++ to PTX and cubin in memory, with NVRTC loaded by dlopen. No GPU is needed.

#include "attnc/result.h"
#include "runtime/cuda/ptxas_log.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attnc {

struct NvrtcRequest {
  std::string source;
  std::string name = "kernel.cu";             ///< of the source, in diagnostics
  std::map<std::string, std::string> headers; ///< by the name with which the source includes them
  std::string architecture;                   ///< "sm_90a", "sm_80", ...
  std::vector<std::string> options;           ///< further ones, "-DNAME=1"
};

struct NvrtcOutput {
  std::string ptx;
  std::string cubin;
  std::string log; ///< of the compiler and ptxas, warnings included
  std::vector<KernelReport> kernels;
  std::vector<std::string> notes; ///< ptxas's numbered remarks: gate on them
  double seconds = 0;             ///< wall-clock time of the compilation; 0 for one that is cached
  bool isCached = false;          ///< NVRTC has not run for it (image_compiler.h)
};

/// Whether a compilation is to stop; once true, always true. Called by any thread of NVRTC. Empty:
/// it is never to stop.
using StopCompiling = std::function<bool()>;

class Nvrtc {
public:
  /// The first of nvrtcCandidates (nvrtc_library.h) that can be loaded. Error (Environment): where
  /// NVRTC comes from.
  static Result<std::unique_ptr<Nvrtc>> open();

  int versionMajor() const { return major; }
  int versionMinor() const { return minor; }
  /// The file that was loaded.
  const std::string &path() const { return file; }
  /// In ascending order, without suffixes: 75, 80, ..., 90, ...
  const std::vector<int> &architectures() const { return archs; }

  /// Thread-safe: calls from several threads compile at the same time (NVRTC's functions may be
  /// called concurrently as long as no two of them work on one program; each call has its own).
  /// NVRTC asks `stop` between its steps, if it is 12.9 or later; an older one goes on to the end.
  /// Steps are short for many functions and long for one of many thousand lines (three quarters of
  /// its time). Error (Compilation): the compiler's log, or that it was to stop; (InvalidArgument):
  /// an architecture that this NVRTC does not know.
  Result<NvrtcOutput> compile(const NvrtcRequest &request,
                              const StopCompiling &stop = nullptr) const;

private:
  struct Api;
  Nvrtc() = default;
  Status checkArchitecture(const std::string &name) const;

  std::shared_ptr<const Api> api;
  int major = 0;
  int minor = 0;
  std::string file;
  std::vector<int> archs;
};

/// All options with which a request is compiled, its own among them.
std::vector<std::string> nvrtcOptions(const NvrtcRequest &request);

} // namespace attnc
