#include "runtime/program/program.h"

#include "runtime/cache/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace attnc {

namespace {

// Layout, little-endian: magic (8), version u32, CRC-32C u32 of all that follows, total length u64,
// then sections: tag (4 letters), flags u32, length u64, bytes. A reader passes over a section that
// it does not know, unless the section is flagged as one that must be known. In sections, a string
// is its length u64 and its bytes.
constexpr std::string_view magic = "ATTNCPRG";
constexpr std::uint32_t formatVersion = 2;
constexpr std::uint32_t mustBeKnown = 1;
constexpr std::size_t tagSize = 4;
constexpr std::size_t checkedFrom = 16;
constexpr std::size_t headerSize = 24;

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> rows{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit)
        value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0);
      rows[byte] = value;
    }
    return rows;
  }();
  std::uint32_t crc = ~0u;
  for (char byte : bytes)
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

template <typename T> void put(std::string &out, T value) {
  for (std::size_t byte = 0; byte < sizeof(T); ++byte)
    out.push_back(static_cast<char>(value >> (8 * byte)));
}

void putText(std::string &out, std::string_view text) {
  put<std::uint64_t>(out, text.size());
  out += text;
}

/// Takes values off the front of `bytes`; beyond the end it gives zeros and remembers that.
struct Cursor {
  std::string_view bytes;
  bool truncated = false;

  template <typename T> T take() {
    if (bytes.size() < sizeof(T)) {
      truncated = true;
      bytes = {};
      return 0;
    }
    T value = 0;
    for (std::size_t byte = 0; byte < sizeof(T); ++byte)
      value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[byte]))
                                         << (8 * byte));
    bytes.remove_prefix(sizeof(T));
    return value;
  }

  std::string_view takeView() {
    auto size = take<std::uint64_t>();
    if (size > bytes.size()) {
      truncated = true;
      size = 0;
    }
    std::string_view view = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return view;
  }

  std::string takeText() { return std::string(takeView()); }
};

Error damaged(std::string_view what) {
  return invalidArgument(fmt::format("the program file is damaged: {}", what), "compile it again");
}

Error newer(const std::string &what) {
  return invalidArgument(
      fmt::format("the program file has {}, which this attnc does not know", what),
      "use a newer attnc, or compile the spec again with this one");
}

Status checkHeader(std::string_view bytes) {
  if (!isProgram(bytes))
    return invalidArgument("not an attnc program: the file does not begin with " +
                               std::string(magic),
                           "pass a file written by attnc compile -o");
  if (bytes.size() < headerSize)
    return damaged("it ends within its header");
  Cursor cursor{bytes.substr(magic.size())};
  auto version = cursor.take<std::uint32_t>();
  auto checksum = cursor.take<std::uint32_t>();
  auto length = cursor.take<std::uint64_t>();
  if (version != formatVersion)
    return invalidArgument(fmt::format("program format {} is not {}, the one that this attnc reads",
                                       version, formatVersion),
                           version > formatVersion
                               ? "use a newer attnc, or compile the spec again with this one"
                               : "compile the spec again with this attnc");
  if (length != bytes.size())
    return damaged(fmt::format("it has {} bytes, its header says {}", bytes.size(), length));
  if (crc32c(bytes.substr(checkedFrom)) != checksum)
    return damaged("its checksum does not match");
  return {};
}

/// Every kernel finds its image, in a program that has any.
Status checkImages(const Program &program, const Manifest &manifest) {
  if (program.images.empty())
    return {};
  for (const KernelDecl &kernel : manifest.kernels)
    if (std::none_of(program.images.begin(), program.images.end(),
                     [&](const Image &image) { return image.name == kernel.image; }))
      return invalidArgument(
          fmt::format("kernel {}: the program has no image '{}'", kernel.name, kernel.image));
  return {};
}

Status checkProgram(const Program &program) {
  if (Status status = checkImages(program, program.manifest); !status)
    return status;
  std::set<std::string> names = {"forward"};
  for (const Entry &entry : program.entries) {
    if (!names.insert(entry.name).second)
      return invalidArgument(fmt::format("the program has two entry points '{}'", entry.name));
    if (Status status = checkImages(program, entry.manifest); !status)
      return status;
  }
  return {};
}

void putSection(std::string &out, std::string_view tag, std::uint32_t flags,
                std::string_view bytes) {
  out += tag;
  put<std::uint32_t>(out, flags);
  putText(out, bytes);
}

void putManifest(std::string &out, const std::string &entry, const Manifest &manifest) {
  std::string bytes;
  putText(bytes, entry);
  putText(bytes, printManifest(manifest));
  putSection(out, "MANI", mustBeKnown, bytes);
}

void putImage(std::string &out, const Image &image) {
  std::string bytes;
  put<std::uint32_t>(bytes, static_cast<std::uint32_t>(image.kind));
  putText(bytes, image.name);
  putText(bytes, image.bytes);
  putSection(out, "IMAG", mustBeKnown, bytes);
}

void putSource(std::string &out, const Source &source) {
  std::string bytes;
  putText(bytes, source.name);
  putText(bytes, source.text);
  putSection(out, "TEXT", 0, bytes);
}

/// Reads sections into a program.
class Sections {
public:
  /// Whether a section of this tag is known; then it has been read.
  Result<bool> read(const std::string &tag, Cursor bytes) {
    if (tag == "MANI")
      return readManifest(bytes);
    if (tag == "IMAG")
      return readImage(bytes);
    if (tag == "TEXT") {
      std::string name = bytes.takeText();
      program.sources.push_back({std::move(name), bytes.takeText()});
    } else if (tag == "BILD") {
      program.build = bytes.takeText();
    } else if (tag == "PROC") {
      program.processor = bytes.takeText();
    } else {
      return false;
    }
    return ended(tag, bytes);
  }

  Result<Program> finish() {
    if (!hasManifest)
      return damaged("it has no manifest");
    if (Status status = checkProgram(program); !status)
      return status.error();
    return std::move(program);
  }

private:
  Result<bool> ended(const std::string &tag, const Cursor &bytes) {
    if (bytes.truncated || !bytes.bytes.empty())
      return damaged(fmt::format("its section {} does not add up to its length", tag));
    return true;
  }

  Result<bool> readManifest(Cursor bytes) {
    std::string name = bytes.takeText();
    std::string text = bytes.takeText();
    if (Result<bool> whole = ended("MANI", bytes); !whole)
      return whole;
    Result<Manifest> manifest = parseManifest(text);
    if (!manifest)
      return manifest.error();
    if (name != "forward")
      program.entries.push_back({std::move(name), *std::move(manifest)});
    else if (std::exchange(hasManifest, true))
      return damaged("it has two manifests of one entry point");
    else
      program.manifest = *std::move(manifest);
    return true;
  }

  Result<bool> readImage(Cursor bytes) {
    auto kind = bytes.take<std::uint32_t>();
    if (kind > static_cast<std::uint32_t>(ImageKind::Cuda))
      return newer(fmt::format("images of kind {}", kind));
    std::string name = bytes.takeText();
    program.images.push_back({static_cast<ImageKind>(kind), std::move(name), bytes.takeText()});
    return ended("IMAG", bytes);
  }

  Program program;
  bool hasManifest = false;
};

Error fileError(std::string_view what, const std::filesystem::path &path) {
  return environmentError(
      fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

} // namespace

const Image *Program::findImage(std::string_view name, ImageKind kind) const {
  for (const Image &image : images)
    if (image.name == name && image.kind == kind)
      return &image;
  return nullptr;
}

const Source *Program::findSource(std::string_view name) const {
  for (const Source &source : sources)
    if (source.name == name)
      return &source;
  return nullptr;
}

bool isProgram(std::string_view bytes) { return bytes.starts_with(magic); }

Result<std::string> serializeProgram(const Program &program) {
  if (Status status = checkManifest(program.manifest); !status)
    return status.error();
  for (const Entry &entry : program.entries)
    if (Status status = checkManifest(entry.manifest); !status)
      return status.error();
  if (Status status = checkProgram(program); !status)
    return status.error();
  std::string body;
  putManifest(body, "forward", program.manifest);
  for (const Entry &entry : program.entries)
    putManifest(body, entry.name, entry.manifest);
  for (const Image &image : program.images)
    putImage(body, image);
  for (const Source &source : program.sources)
    putSource(body, source);
  auto putNote = [&](std::string_view tag, std::uint32_t flags, const std::string &text) {
    std::string bytes;
    putText(bytes, text);
    if (!text.empty())
      putSection(body, tag, flags, bytes);
  };
  putNote("BILD", 0, program.build);
  putNote("PROC", mustBeKnown, program.processor);

  std::string checked;
  put<std::uint64_t>(checked, headerSize + body.size());
  checked += body;
  std::string bytes(magic);
  put<std::uint32_t>(bytes, formatVersion);
  put<std::uint32_t>(bytes, crc32c(checked));
  return bytes + checked;
}

Result<Program> deserializeProgram(std::string_view bytes) {
  if (Status status = checkHeader(bytes); !status)
    return status.error();
  Cursor cursor{bytes.substr(headerSize)};
  Sections sections;
  while (!cursor.bytes.empty()) {
    std::string tag(cursor.bytes.substr(0, tagSize));
    cursor.bytes.remove_prefix(tag.size());
    auto flags = cursor.take<std::uint32_t>();
    std::string_view content = cursor.takeView();
    if (cursor.truncated)
      return damaged("its sections do not add up to its length");
    Result<bool> known = sections.read(tag, {content});
    if (!known)
      return known.error();
    if (!*known && (flags & mustBeKnown))
      return newer(fmt::format("a section '{}'", tag));
  }
  return sections.finish();
}

Status saveProgram(const Program &program, const std::filesystem::path &path) {
  Result<std::string> bytes = serializeProgram(program);
  if (!bytes)
    return bytes.error();
  return cache::writeAtomically(cache::systemFiles(), path.string(), *bytes, /*mode=*/0666);
}

Result<Program> loadProgram(const std::filesystem::path &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return environmentError(fmt::format("cannot read {}: it is a directory", path.string()));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fileError("read", path);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad())
    return fileError("read", path);
  Result<Program> program = deserializeProgram(bytes);
  if (program)
    return program;
  Error error = program.error();
  error.message = path.string() + ": " + error.message;
  return error;
}

} // namespace attnc
