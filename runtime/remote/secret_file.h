#pragma once

/// Files that say who is trusted.

#include "attnc/result.h"

#include <string>

namespace attnc::remote {

/// The text of a small file (64 KiB at most), for keys and tokens. Errors, which name the file:
/// Environment, where it cannot be read, or where others than its owner may write to it, or its
/// owner is neither root nor the user; InvalidArgument, where it is too large.
Result<std::string> readSecretFile(const std::string &file);

} // namespace attnc::remote
