#pragma once

/// What an image depends on.

#include "runtime/cuda/nvrtc.h"

#include <optional>
#include <string>

namespace attnc {

/// The name of what a request asks for, whichever NVRTC compiles it: of the tokens of its source
/// and of the headers that it includes, directly or not, of its options and its architecture. Not
/// of the source's name, nor of comments and white space: the machine code does not depend on them.
/// What NVRTC says of a source in its log does, so a warning that comes from the cache has the name
/// and the lines of the source that was compiled. Nothing: the result may depend on more than these
/// (cuda_tokens.h; an #include of a file that the request does not bring; an option that reads
/// files or writes where the source is).
std::optional<std::string> contentKey(const NvrtcRequest &request);

/// The name of what one NVRTC makes of it. `identity` is libraryIdentity.
std::string imageKey(const std::string &contentKey, const std::string &identity);

} // namespace attnc
