#include "runtime/cuda/image_key.h"

#include "runtime/cache/key.h"
#include "runtime/cuda/cuda_tokens.h"

#include <algorithm>

namespace attnc {

namespace {

// Of the stored value's form (image_compiler.cpp).
constexpr std::int64_t valueVersion = 1;

/// Options of which the whole effect is in their text.
bool isPlain(const std::string &option) {
  return option == "--no-cache" || option == "--minimal" || option.starts_with("-D");
}

/// The tokens of the headers that are included from `includes`, by name. False: one of them is not
/// there, or its tokens are not all.
bool addHeaders(const NvrtcRequest &request, const std::vector<std::string> &includes,
                std::map<std::string, std::string> &headers) {
  for (const std::string &name : includes) {
    auto header = request.headers.find(name);
    if (header == request.headers.end())
      return false;
    if (headers.contains(name))
      continue;
    std::optional<CudaTokens> tokens = cudaTokens(header->second);
    if (!tokens)
      return false;
    headers[name] = std::move(tokens->text);
    if (!addHeaders(request, tokens->includes, headers))
      return false;
  }
  return true;
}

} // namespace

std::optional<std::string> contentKey(const NvrtcRequest &request) {
  if (!std::all_of(request.options.begin(), request.options.end(), isPlain))
    return std::nullopt;
  std::optional<CudaTokens> source = cudaTokens(request.source);
  std::map<std::string, std::string> headers;
  if (!source || !addHeaders(request, source->includes, headers))
    return std::nullopt;
  cache::KeyBuilder key;
  key.add("kind", "image").add("version", valueVersion).add("source", source->text);
  for (const auto &[name, text] : headers)
    key.add("header", name).add("text", text);
  for (const std::string &option : nvrtcOptions(request)) // the architecture is one of them
    key.add("option", option);
  return key.finish();
}

std::string imageKey(const std::string &contentKey, const std::string &identity) {
  return cache::KeyBuilder().add("image", contentKey).add("nvrtc", identity).finish();
}

} // namespace attnc
