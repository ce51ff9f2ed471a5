#include "runtime/cuda/nvrtc.h"

#include "runtime/cuda/nvrtc_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>

namespace attnc {

/// Functions of NVRTC; a result of 0 is success (NVRTC documentation, 13.0).
struct Nvrtc::Api {
  using Handle = void *;
  int (*version)(int *, int *);
  const char *(*errorString)(int);
  int (*archCount)(int *);
  int (*archList)(int *);
  int (*create)(Handle *, const char *, const char *, int, const char *const *,
                const char *const *);
  int (*destroy)(Handle *);
  int (*compile)(Handle, int, const char *const *);
  int (*ptxSize)(Handle, std::size_t *);
  int (*ptx)(Handle, char *);
  int (*cubinSize)(Handle, std::size_t *);
  int (*cubin)(Handle, char *);
  int (*logSize)(Handle, std::size_t *);
  int (*log)(Handle, char *);
  /// Null: this NVRTC cannot be stopped.
  int (*setFlowCallback)(Handle, int (*)(void *, void *), void *);

  Status check(int result, std::string_view call) const {
    return result == 0 ? Status()
                       : internalError(fmt::format("{} failed: {}", call, errorString(result)));
  }

  /// One of NVRTC's pairs of "size" and "get".
  Result<std::string> fetch(Handle program, int (*size)(Handle, std::size_t *),
                            int (*get)(Handle, char *), std::string_view what) const {
    std::size_t count = 0;
    if (Status status = check(size(program, &count), fmt::format("nvrtcGet{}Size", what)); !status)
      return status.error();
    std::string text(count, '\0');
    if (Status status = check(get(program, text.data()), fmt::format("nvrtcGet{}", what)); !status)
      return status.error();
    return text;
  }

  /// `stop` must outlive the compilation.
  Status stopWhen(Handle program, const StopCompiling &stop) const {
    if (!stop || !setFlowCallback)
      return {};
    auto callback = [](void *payload, void *) {
      return int((*static_cast<const StopCompiling *>(payload))());
    };
    return check(setFlowCallback(program, callback, const_cast<StopCompiling *>(&stop)),
                 "nvrtcSetFlowCallback");
  }
};

namespace {

constexpr int cancelled = 16; // NVRTC_ERROR_CANCELLED

void withoutFinalZeros(std::string &text) {
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
}

} // namespace

std::vector<std::string> nvrtcOptions(const NvrtcRequest &request) {
  // ptxas's report costs no measurable time.
  std::vector<std::string> options = {"--gpu-architecture=" + request.architecture, "--std=c++20",
                                      "--ptxas-options=-v"};
  options.insert(options.end(), request.options.begin(), request.options.end());
  return options;
}

Result<std::unique_ptr<Nvrtc>> Nvrtc::open() {
  std::vector<std::filesystem::path> candidates = nvrtcCandidates();
  void *library = nullptr;
  for (const auto &candidate : candidates)
    if ((library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)))
      break;
  if (!library)
    return environmentError(
        fmt::format("NVRTC, the CUDA compiler library, was not found (looked for {})",
                    candidates.size() == 1 ? candidates[0].string()
                                           : "libnvrtc.so.13 and its other places"),
        "it comes with the CUDA toolkit 13 (package cuda-nvrtc-13-0) or with `pip install "
        "nvidia-cuda-nvrtc`; "
        "ATTNC_NVRTC=/path/to/libnvrtc.so names a file");
  auto api = std::make_shared<Api>();
  std::string missing;
  auto load = [&](auto &function, const char *symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
    if (!function && missing.empty())
      missing = symbol;
  };
  load(api->version, "nvrtcVersion");
  load(api->errorString, "nvrtcGetErrorString");
  load(api->archCount, "nvrtcGetNumSupportedArchs");
  load(api->archList, "nvrtcGetSupportedArchs");
  load(api->create, "nvrtcCreateProgram");
  load(api->destroy, "nvrtcDestroyProgram");
  load(api->compile, "nvrtcCompileProgram");
  load(api->ptxSize, "nvrtcGetPTXSize");
  load(api->ptx, "nvrtcGetPTX");
  load(api->cubinSize, "nvrtcGetCUBINSize");
  load(api->cubin, "nvrtcGetCUBIN");
  load(api->logSize, "nvrtcGetProgramLogSize");
  load(api->log, "nvrtcGetProgramLog");
  if (!missing.empty())
    return environmentError(fmt::format("NVRTC has no function {}", missing),
                            "install the CUDA toolkit 13");
  load(api->setFlowCallback, "nvrtcSetFlowCallback"); // since 12.9

  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc());
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void *>(api->version), &info) && info.dli_fname)
    nvrtc->file = info.dli_fname;
  int count = 0;
  if (Status status = api->check(api->version(&nvrtc->major, &nvrtc->minor), "nvrtcVersion");
      !status)
    return status.error();
  if (Status status = api->check(api->archCount(&count), "nvrtcGetNumSupportedArchs"); !status)
    return status.error();
  nvrtc->archs.resize(static_cast<std::size_t>(count));
  if (Status status = api->check(api->archList(nvrtc->archs.data()), "nvrtcGetSupportedArchs");
      !status)
    return status.error();
  nvrtc->api = std::move(api);
  return nvrtc;
}

Status Nvrtc::checkArchitecture(const std::string &name) const {
  int number = 0;
  const char *end = name.data() + name.size();
  if (name.rfind("sm_", 0) == 0) {
    auto [rest, code] = std::from_chars(name.data() + 3, end, number);
    bool suffix = rest == end || (rest + 1 == end && (*rest == 'a' || *rest == 'f'));
    if (code == std::errc() && suffix &&
        std::find(archs.begin(), archs.end(), number) != archs.end())
      return {};
  }
  return invalidArgument(
      fmt::format("NVRTC {}.{} does not know the architecture '{}'", major, minor, name),
      fmt::format("it knows sm_{}", fmt::join(archs, ", sm_")));
}

Result<NvrtcOutput> Nvrtc::compile(const NvrtcRequest &request, const StopCompiling &stop) const {
  if (Status status = checkArchitecture(request.architecture); !status)
    return status.error();
  std::vector<const char *> headerNames, headerTexts;
  for (const auto &[name, text] : request.headers) {
    headerNames.push_back(name.c_str());
    headerTexts.push_back(text.c_str());
  }
  const std::vector<std::string> options = nvrtcOptions(request);
  std::vector<const char *> optionTexts;
  for (const std::string &option : options)
    optionTexts.push_back(option.c_str());

  auto begin = std::chrono::steady_clock::now();
  Api::Handle handle = nullptr;
  if (Status status = api->check(api->create(&handle, request.source.c_str(), request.name.c_str(),
                                             static_cast<int>(headerNames.size()),
                                             headerTexts.data(), headerNames.data()),
                                 "nvrtcCreateProgram");
      !status)
    return status.error();
  auto destroy = [this](Api::Handle program) { api->destroy(&program); };
  std::unique_ptr<void, decltype(destroy)> program(handle, destroy);

  if (Status status = api->stopWhen(handle, stop); !status)
    return status.error();
  int compiled = api->compile(handle, static_cast<int>(optionTexts.size()), optionTexts.data());
  Result<std::string> log = api->fetch(handle, api->logSize, api->log, "ProgramLog");
  if (!log)
    return log.error();
  withoutFinalZeros(*log);
  if (compiled == cancelled)
    return compilationError(fmt::format("{} was not compiled: it was to stop", request.name));
  if (compiled != 0)
    return compilationError(fmt::format("{} does not compile for {}: {}\n{}", request.name,
                                        request.architecture, api->errorString(compiled), *log));
  NvrtcOutput output;
  Result<std::string> ptx = api->fetch(handle, api->ptxSize, api->ptx, "PTX");
  if (!ptx)
    return ptx.error();
  Result<std::string> cubin = api->fetch(handle, api->cubinSize, api->cubin, "CUBIN");
  if (!cubin)
    return cubin.error();
  output.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  output.ptx = *std::move(ptx);
  withoutFinalZeros(output.ptx);
  output.cubin = *std::move(cubin);
  output.log = *std::move(log);
  PtxasReport report = parsePtxasLog(output.log);
  output.kernels = std::move(report.kernels);
  output.notes = std::move(report.notes);
  return output;
}

} // namespace attnc
