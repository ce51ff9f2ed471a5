#include "runtime/cache/key.h"

#include "runtime/cache/entry.h"

namespace attnc::cache {

namespace {

std::string eightBytes(std::uint64_t number) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(number >> shift);
  return bytes;
}

} // namespace

KeyBuilder::KeyBuilder() { add("format", entryVersion); }

void KeyBuilder::addBytes(char kind, std::string_view bytes) {
  hash.update(std::string_view(&kind, 1));
  hash.update(eightBytes(bytes.size()));
  hash.update(bytes);
}

KeyBuilder &KeyBuilder::add(std::string_view label, std::string_view value) {
  addBytes('l', label);
  addBytes('t', value);
  return *this;
}

KeyBuilder &KeyBuilder::add(std::string_view label, std::int64_t value) {
  addBytes('l', label);
  addBytes('n', eightBytes(static_cast<std::uint64_t>(value)));
  return *this;
}

std::string KeyBuilder::finish() const { return hexOf(hash.digest()); }

} // namespace attnc::cache
