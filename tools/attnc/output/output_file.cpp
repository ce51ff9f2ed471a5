#include "tools/attnc/output/output_file.h"
#include "tools/attnc/output/failure.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace attnc::cli {

void writeFile(const std::filesystem::path &path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Failure(Environment,
                  fmt::format("'{}' cannot be written: {}", path.string(), std::strerror(errno)),
                  "check that the folder exists and may be written");
}

} // namespace attnc::cli
