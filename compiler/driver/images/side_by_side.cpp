#include "compiler/driver/images/side_by_side.h"
#include "compiler/device/wgmma_header.h"
#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <thread>

namespace attnc::driver {

NvrtcRequest requestFor(const std::string &target, const std::string &source,
                        const std::string &image) {
  NvrtcRequest request;
  request.source = source;
  request.name = image + ".cu";
  request.headers = device::headersFor(source);
  request.architecture = target;
  // NVRTC's own cache leaves out ptxas's report, and with it the spills. Minimal: without textures
  // and the runtime's types, which no kernel has.
  request.options = {"--no-cache", "--minimal"};
  return request;
}

static Result<NvrtcOutput> compileOne(const ImageCompiler &images, const NvrtcRequest &request,
                                      CompileWatch *watch) {
  if (!watch)
    return images.compile(request);
  std::string kernel = request.name.substr(0, request.name.rfind(".cu"));
  if (Status status = watch->enter("nvrtc", kernel); !status)
    return status.error();
  Result<NvrtcOutput> output = images.compile(request, [watch] { return watch->isOver(); });
  if (!output && watch->isOver())
    return watch->stopped("nvrtc", kernel);
  return output;
}

static std::size_t threadsFor(std::size_t requests, const CompileWatch *watch) {
  std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  if (watch && watch->threads())
    threads = std::min(threads, watch->threads());
  return std::min(threads, requests);
}

std::vector<Result<NvrtcOutput>> compileSideBySide(const ImageCompiler &images,
                                                   const std::vector<NvrtcRequest> &requests,
                                                   CompileWatch *watch) {
  std::vector<std::optional<Result<NvrtcOutput>>> outputs(requests.size());
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i = next++; i < requests.size(); i = next++)
      outputs[i] = compileOne(images, requests[i], watch);
  };
  std::vector<std::jthread> others;
  try {
    while (others.size() + 1 < threadsFor(requests.size(), watch))
      others.emplace_back(work);
  } catch (const std::system_error &) {
    // This thread is enough.
  }
  work();
  for (std::jthread &thread : others)
    thread.join();
  std::vector<Result<NvrtcOutput>> results;
  for (std::optional<Result<NvrtcOutput>> &output : outputs)
    results.push_back(*std::move(output));
  return results;
}

} // namespace attnc::driver
