#include "tools/attnc/input/library.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace attnc::cli {

// Generated from kernels_spec/ by cmake/embed.py.
namespace specs {
std::vector<std::pair<std::string_view, std::string_view>> files();
}

const std::vector<LibrarySpec> &library() {
  static const std::vector<LibrarySpec> list = [] {
    std::vector<LibrarySpec> sorted;
    for (auto [path, text] : specs::files())
      sorted.push_back({std::filesystem::path(path).stem().string(), text});
    std::sort(sorted.begin(), sorted.end(),
              [](const LibrarySpec &a, const LibrarySpec &b) { return a.name < b.name; });
    return sorted;
  }();
  return list;
}

std::vector<std::string> libraryNames() {
  std::vector<std::string> names;
  for (const LibrarySpec &spec : library())
    names.push_back(spec.name);
  return names;
}

const LibrarySpec *findInLibrary(std::string_view name) {
  if (name.ends_with(".json"))
    name.remove_suffix(5);
  for (const LibrarySpec &spec : library())
    if (spec.name == name)
      return &spec;
  return nullptr;
}

} // namespace attnc::cli
