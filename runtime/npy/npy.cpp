#include "runtime/npy/npy.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace attnc {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct DescrRow {
  std::string_view descr;
  DType type;
};

constexpr DescrRow descrs[] = {{"<f2", DType::F16}, {"<u2", DType::BF16}, {"<f4", DType::F32},
                               {"<f8", DType::F64}, {"|i1", DType::I8},   {"<i4", DType::I32},
                               {"<i8", DType::I64}, {"|u1", DType::U8},   {"|b1", DType::U8}};

Error malformed(std::string_view what) {
  return invalidArgument(fmt::format("malformed .npy file: {}", what));
}

/// The header's dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Status parse() {
    bool first = true;
    if (!accept("{"))
      return malformed("its header is no dictionary");
    while (!accept("}")) {
      if (!first && !accept(","))
        return malformed("its header lacks a comma");
      if (!first && accept("}"))
        break;
      first = false;
      std::optional<std::string> key = quoted();
      if (!key || !accept(":"))
        return malformed("its header has no key where one is due");
      if (Status status = entry(*key); !status)
        return status;
    }
    skipSpace();
    if (!text.empty())
      return malformed("something follows the dictionary of its header");
    if (!descr || !fortranOrder || !shape)
      return malformed("its header lacks 'descr', 'fortran_order' or 'shape'");
    return {};
  }

  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<std::int64_t>> shape;

private:
  void skipSpace() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t'))
      text.remove_prefix(1);
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (text.substr(0, token.size()) != token)
      return false;
    text.remove_prefix(token.size());
    return true;
  }

  std::optional<std::string> quoted() {
    for (std::string_view quote : {"'", "\""})
      if (accept(quote)) {
        std::size_t end = text.find(quote);
        if (end == std::string_view::npos)
          return std::nullopt;
        std::string result(text.substr(0, end));
        text.remove_prefix(end + 1);
        return result;
      }
    return std::nullopt;
  }

  Status entry(const std::string &key) {
    if (key == "descr") {
      descr = quoted();
      return descr ? Status() : invalidArgument("this .npy file holds records, not numbers");
    }
    if (key == "fortran_order") {
      if (accept("True"))
        fortranOrder = true;
      else if (accept("False"))
        fortranOrder = false;
      return fortranOrder ? Status() : malformed("'fortran_order' is neither True nor False");
    }
    if (key == "shape")
      return tuple();
    return malformed(fmt::format("its header has the unknown key '{}'", key.substr(0, 40)));
  }

  Status tuple() {
    std::vector<std::int64_t> extents;
    if (!accept("("))
      return malformed("'shape' is no tuple");
    while (!accept(")")) {
      std::int64_t extent = 0;
      skipSpace();
      auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), extent);
      if (code != std::errc() || extent < 0)
        return malformed("'shape' holds something that is no extent");
      if (extents.size() == 64)
        return malformed("'shape' has more than 64 axes");
      extents.push_back(extent);
      text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
      if (!accept(",")) {
        if (accept(")"))
          break;
        return malformed("'shape' is no tuple");
      }
    }
    shape = std::move(extents);
    return {};
  }

  std::string_view text;
};

Result<std::string_view> takeHeader(std::string_view &bytes) {
  if (bytes.substr(0, magic.size()) != magic)
    return invalidArgument("not a .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < 8)
    return malformed("it ends within its header");
  int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return malformed(fmt::format("format version {} is not 1, 2 or 3", version));
  std::size_t lengthBytes = version == 1 ? 2 : 4;
  bytes.remove_prefix(8);
  if (bytes.size() < lengthBytes)
    return malformed("it ends within its header");
  std::size_t length = 0;
  for (std::size_t byte = 0; byte < lengthBytes; ++byte)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[byte])) << (8 * byte);
  bytes.remove_prefix(lengthBytes);
  if (length > bytes.size())
    return malformed("it ends within its header");
  std::string_view header = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return header;
}

Result<DType> dtypeOf(const std::string &descr) {
  for (const DescrRow &row : descrs)
    if (row.descr == descr)
      return row.type;
  return invalidArgument(
      fmt::format("a .npy file of dtype '{}' is not supported", descr.substr(0, 40)),
      "convert it with numpy.astype to f2, f4, f8, i1, i4, i8 or u1, little-endian "
      "(u2 holds the bits of bf16)");
}

Error fileError(std::string_view what, const std::filesystem::path &path) {
  return environmentError(
      fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

} // namespace

Result<NpyArray> parseNpy(std::string_view bytes) {
  Result<std::string_view> text = takeHeader(bytes);
  if (!text)
    return text.error();
  HeaderParser header(*text);
  if (Status status = header.parse(); !status)
    return status.error();
  Result<DType> dtype = dtypeOf(*header.descr);
  if (!dtype)
    return dtype.error();
  std::size_t axesThatMatter = 0; // for one long axis both orders are the same
  std::uint64_t count = dtypeSize(*dtype);
  bool empty = false, tooLarge = false;
  for (std::int64_t extent : *header.shape) {
    axesThatMatter += extent > 1;
    empty |= extent == 0;
    tooLarge |=
        extent > 0 && __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count);
  }
  if (*header.fortranOrder && axesThatMatter > 1 && !empty)
    return invalidArgument("this .npy file is in Fortran order",
                           "save numpy.ascontiguousarray(x) instead");
  if (tooLarge)
    return malformed("its shape has more than 2^64 bytes");
  if (empty)
    count = 0;
  if (count != bytes.size())
    return malformed(
        fmt::format("its shape needs {} bytes, but {} follow the header", count, bytes.size()));
  NpyArray array{*dtype, *std::move(header.shape), std::vector<std::byte>(bytes.size())};
  if (!bytes.empty())
    std::memcpy(array.data.data(), bytes.data(), bytes.size());
  return array;
}

std::string formatNpy(const NpyArray &array) {
  // The first: what a u8 holds need not be 0 or 1.
  const DescrRow *row = std::begin(descrs);
  while (row->type != array.dtype)
    ++row;
  std::string_view descr = row->descr;
  std::string shape;
  for (std::int64_t extent : array.shape)
    shape += fmt::format("{}, ", extent);
  if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // Version 1: magic, version (2), length (2), header; in all a multiple of 64 that ends in a
  // newline.
  std::size_t total = (magic.size() + 4 + header.size() + 1 + 63) / 64 * 64;
  header.resize(total - magic.size() - 4 - 1, ' ');
  header += '\n';
  std::string bytes(magic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char *>(array.data.data()), array.data.size());
  return bytes;
}

Result<NpyArray> readNpy(const std::filesystem::path &path) {
  std::error_code ignored;
  // A device may never end, and a directory cannot be read.
  if (std::filesystem::is_character_file(path, ignored) ||
      std::filesystem::is_directory(path, ignored))
    return invalidArgument(fmt::format("{} is not a file", path.string()), "name a .npy file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fileError("read", path);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad())
    return fileError("read", path);
  Result<NpyArray> array = parseNpy(bytes);
  if (array)
    return array;
  Error error = array.error();
  error.message = path.string() + ": " + error.message;
  return error;
}

Status writeNpy(const NpyArray &array, const std::filesystem::path &path) {
  std::string bytes = formatNpy(array);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file ? Status() : Status(fileError("write", path));
}

} // namespace attnc
