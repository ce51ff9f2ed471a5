#include "compiler/driver/images/deferred_images.h"
#include "compiler/driver/images/side_by_side.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc::driver {

DeferredImages::DeferredImages(std::map<std::string, NvrtcRequest> requests, Compile compile)
    : requests(std::move(requests)), compile(std::move(compile)) {}

std::vector<std::string> DeferredImages::names() const {
  std::vector<std::string> names;
  for (const auto &[name, request] : requests)
    names.push_back(name);
  return names;
}

const std::string *DeferredImages::note(const std::string &name) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto known = remarks.find(name);
  return known == remarks.end() ? nullptr : &known->second;
}

static std::string remarksOn(const NvrtcOutput &output) {
  std::vector<std::string> lines = output.notes;
  for (const KernelReport &kernel : output.kernels)
    if (kernel.resources.spillStores || kernel.resources.spillLoads)
      lines.push_back(fmt::format("{} spills registers ({} bytes stored, {} loaded)", kernel.symbol,
                                  kernel.resources.spillStores, kernel.resources.spillLoads));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

Result<std::vector<Image>> DeferredImages::images(const std::vector<std::string> &names,
                                                  CompileWatch *watch) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> missing;
  std::vector<NvrtcRequest> asked;
  for (const std::string &name : names) {
    auto request = requests.find(name);
    if (request == requests.end())
      return internalError("there is no image " + name, "report this with the spec");
    if (!done.count(name)) {
      missing.push_back(name);
      asked.push_back(request->second);
    }
  }
  std::optional<Error> failed;
  if (!asked.empty()) {
    std::vector<Result<NvrtcOutput>> outputs = compile(asked, watch);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (outputs[i]) {
        remarks[missing[i]] = remarksOn(*outputs[i]);
        done[missing[i]] = *std::move(outputs[i]);
      } else if (!failed) {
        failed = outputs[i].error();
      }
    }
  }
  if (failed)
    return *failed;
  std::vector<Image> images;
  for (const std::string &name : names) {
    images.push_back({ImageKind::Cubin, name, done.at(name).cubin});
    images.push_back({ImageKind::Ptx, name, done.at(name).ptx});
  }
  return images;
}

std::shared_ptr<DeferredImages> deferredImagesOf(const Program &program,
                                                 std::shared_ptr<const ImageCompiler> images) {
  // The source is called after its kernel, as where it does not wait: NVRTC names what is internal
  // after it.
  std::map<std::string, NvrtcRequest> requests;
  auto addKernels = [&](const Manifest &manifest) {
    for (const KernelDecl &kernel : manifest.kernels)
      if (const Image *image = program.findImage(kernel.image, ImageKind::Cuda))
        requests[kernel.image] = requestFor(manifest.target, image->bytes, kernel.symbol);
  };
  addKernels(program.manifest);
  for (const Entry &entry : program.entries)
    addKernels(entry.manifest);
  if (requests.empty())
    return nullptr;
  return std::make_shared<DeferredImages>(
      std::move(requests),
      [images = std::move(images)](const std::vector<NvrtcRequest> &asked, CompileWatch *watch) {
        return compileSideBySide(*images, asked, watch);
      });
}

} // namespace attnc::driver
