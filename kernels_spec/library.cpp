#include "kernels_spec/library.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace attnc {

// Generated from this folder by cmake/embed.py.
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

static std::optional<SpecSource> findBase(llvm::StringRef name) {
  const LibrarySpec *spec = name.contains('/') ? nullptr : findInLibrary(std::string_view(name));
  if (!spec)
    return std::nullopt;
  return SpecSource{spec->name + ".json", std::string(spec->text)};
}

static std::optional<SpecSource> readBase(const std::filesystem::path &path) {
  std::error_code error;
  if (path.extension() != ".json" || !std::filesystem::is_regular_file(path, error))
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(maxSpecBytes + 1, '\0'); // parseSpec says that more is too long
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad())
    return std::nullopt;
  return SpecSource{path.lexically_normal().string(), std::move(text), /*isFile=*/true};
}

SpecBases libraryBases() {
  return {[](llvm::StringRef name, llvm::StringRef) { return findBase(name); }, libraryNames()};
}

SpecBases fileBases() {
  auto find = [](llvm::StringRef name, llvm::StringRef from) {
    std::optional<SpecSource> file =
        readBase(std::filesystem::path(from.str()).parent_path() / name.str());
    return file ? file : findBase(name);
  };
  return {find, libraryNames()};
}

} // namespace attnc
