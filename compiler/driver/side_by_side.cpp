#include "compiler/driver/side_by_side.h"
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

std::vector<Result<NvrtcOutput>> compileSideBySide(const ImageCompiler &images,
                                                   const std::vector<NvrtcRequest> &requests) {
  std::vector<std::optional<Result<NvrtcOutput>>> outputs(requests.size());
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i = next++; i < requests.size(); i = next++)
      outputs[i] = images.compile(requests[i]);
  };
  std::vector<std::jthread> others;
  std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
  try {
    while (others.size() + 1 < std::min(processors, requests.size()))
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
