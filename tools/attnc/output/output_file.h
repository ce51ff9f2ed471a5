// Files that commands write.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_OUTPUT_FILE_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_OUTPUT_FILE_H

#include <filesystem>
#include <string_view>

namespace attnc::cli {

/// Writes `text` to a file, over what is there. Failure (Environment): it cannot be written.
void writeFile(const std::filesystem::path &path, std::string_view text);

} // namespace attnc::cli

#endif
