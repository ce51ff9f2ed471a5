#pragma once

/// What a server says, on its way to a terminal or a log.

#include <string>
#include <string_view>

namespace attnc::remote {

/// The text without control characters, which would move the cursor or change what was written
/// before: a space for each. Lines stay lines.
std::string foreignText(std::string_view text);

} // namespace attnc::remote
