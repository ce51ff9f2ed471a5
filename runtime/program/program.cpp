#include "runtime/program/program.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <unistd.h>

namespace attnc {

namespace {

// Layout, little-endian: magic (8), version u32, CRC-32C u32 of all that follows, total length u64,
// manifest, count of images u32 { kind u32, name, bytes }, count of sources u32 { name, text };
// a string is its length u64 and its bytes.
constexpr std::string_view magic = "ATTNCPRG";
constexpr std::uint32_t formatVersion = 1;
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

  std::string takeText() {
    auto size = take<std::uint64_t>();
    if (size > bytes.size()) {
      truncated = true;
      size = 0;
    }
    std::string text(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return text;
  }
};

Error damaged(std::string_view what) {
  return invalidArgument(fmt::format("the program file is damaged: {}", what), "compile it again");
}

Status checkHeader(std::string_view bytes) {
  if (bytes.substr(0, magic.size()) != magic)
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
                           "compile it again with this attnc");
  if (length != bytes.size())
    return damaged(fmt::format("it has {} bytes, its header says {}", bytes.size(), length));
  if (crc32c(bytes.substr(checkedFrom)) != checksum)
    return damaged("its checksum does not match");
  return {};
}

/// Every kernel finds its image. Kernels for the CPU may live outside the file, compiled at load.
Status checkImages(const Program &program) {
  if (program.images.empty())
    return {};
  for (const KernelDecl &kernel : program.manifest.kernels) {
    bool found = false;
    for (const Image &image : program.images)
      found |= image.name == kernel.image;
    if (!found)
      return invalidArgument(
          fmt::format("kernel {}: the program has no image '{}'", kernel.name, kernel.image));
  }
  return {};
}

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

Result<std::string> serializeProgram(const Program &program) {
  if (Status status = checkManifest(program.manifest); !status)
    return status.error();
  if (Status status = checkImages(program); !status)
    return status.error();
  std::string body;
  putText(body, printManifest(program.manifest));
  put<std::uint32_t>(body, static_cast<std::uint32_t>(program.images.size()));
  for (const Image &image : program.images) {
    put<std::uint32_t>(body, static_cast<std::uint32_t>(image.kind));
    putText(body, image.name);
    putText(body, image.bytes);
  }
  put<std::uint32_t>(body, static_cast<std::uint32_t>(program.sources.size()));
  for (const Source &source : program.sources) {
    putText(body, source.name);
    putText(body, source.text);
  }
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
  Result<Manifest> manifest = parseManifest(cursor.takeText());
  if (!manifest)
    return manifest.error();
  Program program;
  program.manifest = *std::move(manifest);
  auto images = cursor.take<std::uint32_t>();
  for (std::uint32_t index = 0; index < images && !cursor.truncated; ++index) {
    auto kind = cursor.take<std::uint32_t>();
    if (kind > static_cast<std::uint32_t>(ImageKind::Object))
      return damaged(fmt::format("image {} has the unknown kind {}", index, kind));
    std::string name = cursor.takeText();
    program.images.push_back({static_cast<ImageKind>(kind), std::move(name), cursor.takeText()});
  }
  auto sources = cursor.take<std::uint32_t>();
  for (std::uint32_t index = 0; index < sources && !cursor.truncated; ++index) {
    std::string name = cursor.takeText();
    program.sources.push_back({std::move(name), cursor.takeText()});
  }
  if (cursor.truncated || !cursor.bytes.empty())
    return damaged("its parts do not add up to its length");
  if (Status status = checkImages(program); !status)
    return status.error();
  return program;
}

Status saveProgram(const Program &program, const std::filesystem::path &path) {
  Result<std::string> bytes = serializeProgram(program);
  if (!bytes)
    return bytes.error();
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
    file.close();
    if (!file)
      return fileError("write", temporary);
  }
  std::error_code code;
  std::filesystem::rename(temporary, path, code);
  if (!code)
    return {};
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return environmentError(fmt::format("cannot write {}: {}", path.string(), code.message()));
}

Result<Program> loadProgram(const std::filesystem::path &path) {
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
