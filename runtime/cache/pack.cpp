// Entries in one file, to be carried elsewhere.
#include "runtime/cache/atomic_file.h"
#include "runtime/cache/store.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <zstd.h>

namespace attnc::cache {

namespace {

// The file, integers little endian: 8 bytes "attncpak", 8 the version; for each entry 8 the size of
// its file, which is not 0, and the file; 8 zeros.
constexpr std::string_view magic = "attncpak";
constexpr std::uint64_t packVersion = 1;

std::string eightBytes(std::uint64_t number) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(number >> shift);
  return bytes;
}

/// Reads from a file that may hold anything.
class PackReader {
public:
  explicit PackReader(const std::string &path) : file(path, std::ios::binary) {
    file.seekg(0, std::ios::end);
    std::streamoff end = file ? std::streamoff(file.tellg()) : -1;
    left = end < 0 ? 0 : static_cast<std::uint64_t>(end);
    readable = end >= 0;
    file.seekg(0);
  }

  bool isReadable() const { return readable; }
  bool isAtEnd() const { return left == 0; }

  /// Nothing: there are not as many.
  std::optional<std::string> bytes(std::uint64_t count) {
    if (count > left)
      return std::nullopt;
    std::string text(count, '\0');
    if (!file.read(text.data(), static_cast<std::streamsize>(count)))
      return std::nullopt;
    left -= count;
    return text;
  }

  std::optional<std::uint64_t> number() {
    std::optional<std::string> eight = bytes(8);
    if (!eight)
      return std::nullopt;
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; --i)
      value = value << 8 | static_cast<unsigned char>((*eight)[static_cast<std::size_t>(i)]);
    return value;
  }

private:
  std::ifstream file;
  std::uint64_t left = 0;
  bool readable = false;
};

} // namespace

Result<PackReport> Store::exportPack(const std::string &file, const Filter &filter) {
  Result<AtomicFile> pack = AtomicFile::create(files(), file, 0666);
  if (!pack)
    return pack.error();
  if (Status status = pack->append(std::string(magic) + eightBytes(packVersion)); !status)
    return status.error();
  PackReport report;
  for (const EntryInfo &entry : list()) {
    if (filter && !filter(entry))
      continue;
    std::optional<Read> found = read(entry.tier, entry.key, /*countsAsUse=*/false);
    if (!found)
      continue;
    if (Status status = pack->append(eightBytes(found->file.size()) + found->file); !status)
      return status.error();
    ++report.entries;
  }
  if (Status status = pack->append(eightBytes(0)); !status)
    return status.error();
  if (Status status = pack->commit(); !status)
    return status.error();
  return report;
}

Result<PackReport> Store::importPack(const std::string &file) {
  if (!writes())
    return environmentError("there is no cache to import to", "see `attnc doctor`");
  PackReader reader(file);
  if (!reader.isReadable())
    return environmentError(fmt::format("{} cannot be read: {}", file, std::strerror(errno)),
                            "check the path and its permissions");
  if (reader.bytes(magic.size()) != magic || reader.number() != packVersion)
    return invalidArgument(fmt::format("{} is no pack of this version of attnc", file),
                           "`attnc cache export` writes packs");
  PackReport report;
  while (std::optional<std::uint64_t> size = reader.number()) {
    if (*size == 0 && reader.isAtEnd())
      return report;
    std::optional<std::string> entry = *size <= entryHeaderBytes + ZSTD_compressBound(maxEntryBytes)
                                           ? reader.bytes(*size)
                                           : std::nullopt;
    if (!entry)
      break;
    Result<bool> added = addFile(*entry);
    if (!added && added.error().kind != ErrorKind::InvalidArgument)
      return added.error();
    ++(!added ? report.refused : *added ? report.entries : report.present);
  }
  return invalidArgument(fmt::format("{} is cut off or damaged after {} entries", file,
                                     report.entries + report.present + report.refused),
                         "make it anew; what stands before is in the cache");
}

} // namespace attnc::cache
