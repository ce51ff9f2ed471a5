#include "runtime/cuda/image_compiler.h"

#include "runtime/cuda/image_key.h"
#include "runtime/cuda/nvrtc_library.h"
#include "runtime/cuda/ptxas_log.h"

namespace attnc {

namespace {

using cache::Store;
using cache::Tier;

/// PTX, cubin and log, each with its length in front. Reports follow from the log.
std::string valueOf(const NvrtcOutput &output) {
  std::string value;
  for (const std::string *part : {&output.ptx, &output.cubin, &output.log}) {
    for (int shift = 0; shift < 64; shift += 8)
      value += static_cast<char>(std::uint64_t(part->size()) >> shift);
    value += *part;
  }
  return value;
}

/// Nothing: it is no such value.
std::optional<NvrtcOutput> outputOf(std::string_view value) {
  NvrtcOutput output;
  for (std::string *part : {&output.ptx, &output.cubin, &output.log}) {
    if (value.size() < 8)
      return std::nullopt;
    std::uint64_t size = 0;
    for (std::size_t i = 8; i-- > 0;)
      size = size << 8 | static_cast<unsigned char>(value[i]);
    value.remove_prefix(8);
    if (size > value.size())
      return std::nullopt;
    *part = value.substr(0, size);
    value.remove_prefix(size);
  }
  if (!value.empty())
    return std::nullopt;
  PtxasReport report = parsePtxasLog(output.log);
  output.kernels = std::move(report.kernels);
  output.notes = std::move(report.notes);
  output.isCached = true;
  return output;
}

} // namespace

std::shared_ptr<const ImageCompiler> ImageCompiler::ofUser() {
  return std::make_shared<const ImageCompiler>(Store::ofUser());
}

Result<const Nvrtc *> ImageCompiler::nvrtc() const {
  std::lock_guard guard(mutex);
  if (!opened) {
    Result<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::open();
    if (!nvrtc)
      return nvrtc.error();
    opened = *std::move(nvrtc);
    known = libraryIdentity(opened->path());
  }
  return opened.get();
}

std::string ImageCompiler::identity() const {
  {
    std::lock_guard guard(mutex);
    if (!known) {
      std::filesystem::path file = nvrtcCandidates().front();
      known = file.has_parent_path() ? libraryIdentity(file) : "";
    }
    if (!known->empty())
      return *known;
  }
  (void)nvrtc().ok(); // without a file to ask, only NVRTC itself can say which one it is
  std::lock_guard guard(mutex);
  return *known;
}

Result<NvrtcOutput> ImageCompiler::compile(const NvrtcRequest &request,
                                           const StopCompiling &stop) const {
  std::optional<std::string> content = store ? contentKey(request) : std::nullopt;
  std::string maker = content ? identity() : "";
  if (maker.empty())
    return compileOnly(request, content, stop);
  Result<NvrtcOutput> output = compileOnce(request, *content, maker, stop);
  // What was loaded may be another library than its place promised.
  if (std::string loaded = identity(); !output && loaded != maker)
    output = compileOnce(request, *content, loaded, stop);
  return output || output.error().kind != ErrorKind::Environment
             ? std::move(output)
             : compileOnly(request, content, stop);
}

Result<NvrtcOutput> ImageCompiler::compileOnly(const NvrtcRequest &request,
                                               const std::optional<std::string> &content,
                                               const StopCompiling &stop) const {
  Result<const Nvrtc *> compiler = nvrtc();
  if (compiler)
    return (*compiler)->compile(request, stop);
  if (std::optional<NvrtcOutput> any = content ? madeByAny(*content) : std::nullopt)
    return *std::move(any);
  return compiler.error();
}

Result<NvrtcOutput> ImageCompiler::compileOnce(const NvrtcRequest &request,
                                               const std::string &content, const std::string &maker,
                                               const StopCompiling &stop) const {
  std::optional<NvrtcOutput> fresh;
  Result<Store::Value> made =
      store->getOrMake(Tier::Image, imageKey(content, maker), [&]() -> Result<Store::Value> {
        Result<const Nvrtc *> compiler = nvrtc();
        if (!compiler)
          return compiler.error();
        if (identity() != maker)
          return environmentError("NVRTC is another one than its file");
        Result<NvrtcOutput> output = (*compiler)->compile(request, stop);
        if (!output)
          return output.error();
        fresh = *std::move(output);
        return Store::Value{valueOf(*fresh)};
      });
  if (!made)
    return made.error();
  // The newest maker, for machines without NVRTC. It is asked for each time, so that it is pruned
  // no earlier than the image.
  if (!store->get(Tier::Image, content) || fresh)
    store->put(Tier::Image, content, maker);
  if (fresh)
    return *std::move(fresh);
  if (std::optional<NvrtcOutput> output = outputOf(made->bytes))
    return *std::move(output);
  return compileOnly(request, content, stop); // a value that another program has put there
}

std::optional<NvrtcOutput> ImageCompiler::madeByAny(const std::string &content) const {
  std::optional<std::string> maker = store->get(Tier::Image, content);
  std::optional<std::string> value =
      maker ? store->get(Tier::Image, imageKey(content, *maker)) : std::nullopt;
  return value ? outputOf(*value) : std::nullopt;
}

} // namespace attnc
