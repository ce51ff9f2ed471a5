// The variant library that the binary carries: the files of kernels_spec/.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_LIBRARY_H
#define ATTNC_TOOLS_ATTNC_INPUT_LIBRARY_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::cli {

struct LibrarySpec {
  std::string name; ///< the file's name without .json
  std::string_view text;
};

/// All specs, by name.
const std::vector<LibrarySpec> &library();

/// Their names, in this order.
std::vector<std::string> libraryNames();

/// The spec of this name, with or without ".json".
const LibrarySpec *findInLibrary(std::string_view name);

} // namespace attnc::cli

#endif
