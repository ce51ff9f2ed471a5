#include "runtime/cuda/nvrtc_library.h"

#include "runtime/cache/sha256.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <glob.h>
#include <link.h>
#include <memory>
#include <optional>
#include <sstream>

namespace attnc {

namespace {

namespace fs = std::filesystem;

//===--- places -----------------------------------------------------------------------------===//

/// A library that is loaded in this process, by the name under which others find it.
std::optional<fs::path> loaded(const char *name) {
  std::unique_ptr<void, int (*)(void *)> library(dlopen(name, RTLD_LAZY | RTLD_NOLOAD), dlclose);
  link_map *map = nullptr;
  if (!library || dlinfo(library.get(), RTLD_DI_LINKMAP, &map) != 0)
    return std::nullopt;
  return fs::path(map->l_name);
}

/// The folders of a file as ldconfig(8) reads it.
void addConfigured(const fs::path &configuration, std::vector<fs::path> &folders) {
  std::ifstream file(configuration);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word, pattern;
    words >> word;
    if (word == "include" && words >> pattern) {
      glob_t found = {};
      if (glob((configuration.parent_path() / pattern).c_str(), 0, nullptr, &found) == 0)
        for (std::size_t i = 0; i < found.gl_pathc; ++i)
          addConfigured(found.gl_pathv[i], folders);
      globfree(&found);
    } else if (fs::path(word).is_absolute()) {
      folders.push_back(word);
    }
  }
}

/// Where ld.so(8) looks for a library.
std::vector<fs::path> loaderFolders() {
  std::vector<fs::path> folders;
  if (const char *path = std::getenv("LD_LIBRARY_PATH")) {
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, ':');)
      if (fs::path(part).is_absolute())
        folders.push_back(part);
  }
  addConfigured("/etc/ld.so.conf", folders);
  for (const char *folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
    folders.push_back(folder);
  return folders;
}

/// site-packages/nvidia/*/lib under each Python of `root` (root/lib/python3.X).
void addWheels(const fs::path &root, std::vector<fs::path> &folders) {
  std::error_code code;
  for (const auto &python : fs::directory_iterator(root / "lib", code)) {
    if (python.path().filename().string().rfind("python3", 0) != 0)
      continue;
    for (const char *packages : {"site-packages", "dist-packages"})
      for (const auto &wheel : fs::directory_iterator(python.path() / packages / "nvidia", code))
        folders.push_back(wheel.path() / "lib");
  }
}

std::vector<fs::path> wheelFolders() {
  std::vector<fs::path> folders;
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char *root = std::getenv(variable); root && *root)
      addWheels(root, folders);
  if (const char *home = std::getenv("HOME"); home && *home)
    addWheels(fs::path(home) / ".local", folders);
  addWheels("/usr/local", folders);
  addWheels("/usr", folders);
  return folders;
}

//===--- identity ---------------------------------------------------------------------------===//

/// `count` bytes at `offset`; empty where the file has fewer.
std::string readAt(std::ifstream &file, std::uint64_t offset, std::uint64_t count) {
  std::string bytes(count, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  return file.read(bytes.data(), static_cast<std::streamsize>(count)) ? bytes : "";
}

template <typename Struct> Struct structAt(const std::string &bytes, std::size_t offset) {
  Struct value = {};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The build id among the notes of a segment; empty if it is not there.
std::string buildIdIn(const std::string &notes) {
  auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    auto note = structAt<Elf64_Nhdr>(notes, at);
    std::size_t name = at + sizeof note, content = name + padded(note.n_namesz);
    std::size_t end = content + padded(note.n_descsz);
    if (end > notes.size())
      return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        notes.compare(name, 4, "GNU", 4) == 0)
      return notes.substr(content, note.n_descsz);
    at = end;
  }
  return "";
}

std::string buildId(std::ifstream &file) {
  auto header = structAt<Elf64_Ehdr>(readAt(file, 0, sizeof(Elf64_Ehdr)), 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return "";
  std::string segments =
      readAt(file, header.e_phoff, std::uint64_t(header.e_phnum) * sizeof(Elf64_Phdr));
  constexpr std::uint64_t mostNotes = 1 << 20; // of a file that may be none of a linker's
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    auto segment = structAt<Elf64_Phdr>(segments, i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_NOTE && segment.p_filesz <= mostNotes)
      if (std::string id = buildIdIn(readAt(file, segment.p_offset, segment.p_filesz)); !id.empty())
        return id;
  }
  return "";
}

std::string hexText(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

} // namespace

std::vector<fs::path> nvrtcCandidates() {
  if (const char *chosen = std::getenv("ATTNC_NVRTC"); chosen && *chosen)
    return {chosen}; // a choice by hand is not silently replaced
  std::vector<fs::path> candidates;
  auto addFiles = [&](const std::vector<fs::path> &folders,
                      std::initializer_list<const char *> names) {
    std::error_code code;
    for (const char *name : names)
      for (const fs::path &folder : folders)
        if (fs::exists(folder / name, code))
          candidates.push_back(folder / name);
  };
  for (const char *name : {"libnvrtc.so.13", "libnvrtc.so"})
    if (std::optional<fs::path> already = loaded(name))
      candidates.push_back(*already);
  addFiles(loaderFolders(), {"libnvrtc.so.13", "libnvrtc.so"});
  addFiles({"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"},
           {"libnvrtc.so.13", "libnvrtc.so"});
  addFiles(wheelFolders(), {"libnvrtc.so.13", "libnvrtc.so.12"});
  candidates.insert(candidates.end(), {"libnvrtc.so.13", "libnvrtc.so"});
  return candidates;
}

std::string libraryIdentity(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !fs::is_regular_file(path))
    return "";
  if (std::string id = buildId(file); !id.empty())
    return "build id " + hexText(id);
  cache::Sha256 hash;
  file.clear();
  file.seekg(0);
  for (std::string part(1 << 20, '\0'); file.read(part.data(), 1 << 20), file.gcount() > 0;)
    hash.update(std::string_view(part).substr(0, static_cast<std::size_t>(file.gcount())));
  return "sha256 " + cache::hexOf(hash.digest());
}

} // namespace attnc
