#include "runtime/remote/address.h"

#include "runtime/cache/sha256.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace attnc::remote {

namespace {

/// What stands before the first `mark`, which is taken from `text` with it. Nothing: there is none.
std::optional<std::string_view> takeUpTo(std::string_view &text, char mark) {
  std::size_t at = text.find(mark);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view front = text.substr(0, at);
  text.remove_prefix(at + 1);
  return front;
}

Error wrong(std::string_view shown, std::string_view what) {
  return invalidArgument(fmt::format("the address {} {}", shown, what),
                         "addresses are http://HOST:PORT, https://HOST:PORT, unix:/PATH, "
                         "redis://HOST:PORT and redis+unix:/PATH");
}

/// A number of at most `most`. Nothing: it is none.
std::optional<int> numberOf(std::string_view text, int most) {
  int number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool isNumber = code == std::errc() && end == text.data() + text.size() && !text.empty();
  return isNumber && number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

bool isHost(std::string_view host) {
  auto isPlain = [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == ':';
  };
  bool inBrackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  std::string_view name = inBrackets ? host.substr(1, host.size() - 2) : host;
  return !name.empty() && std::all_of(name.begin(), name.end(), isPlain) &&
         (inBrackets || name.find(':') == std::string_view::npos);
}

/// HOST[:PORT]. False: it is something else.
bool readHost(std::string_view text, std::string &host, std::optional<int> &port) {
  std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    port = numberOf(text.substr(colon + 1), 65535);
    if (!port || *port == 0)
      return false;
    text = text.substr(0, colon);
  }
  host = text;
  return isHost(text);
}

/// The bytes that %XX in the parts of an address stand for.
std::optional<std::string> decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    unsigned byte = 0;
    const char *end = text.data() + std::min(i + 3, text.size());
    if (std::from_chars(text.data() + i + 1, end, byte, 16).ptr != text.data() + i + 3)
      return std::nullopt;
    bytes += static_cast<char>(byte);
    i += 2;
  }
  return bytes;
}

Result<Address> parseHttp(std::string_view text, std::string_view afterScheme) {
  Address address;
  address.text = address.url = text;
  while (address.url.ends_with('/'))
    address.url.pop_back();
  if (afterScheme.find('@') != std::string_view::npos)
    return wrong(text.substr(0, text.find(':')), "has a user or a password: the token is in the "
                                                 "file that ATTNC_REMOTE_TOKEN_FILE names");
  std::string host;
  std::optional<int> port;
  if (!readHost(afterScheme.substr(0, afterScheme.find('/')), host, port))
    return wrong(text, "has no host, or a port that is none");
  if (afterScheme.find_first_of("?#\\") != std::string_view::npos)
    return wrong(text, "has more than a path");
  return address;
}

Result<Address> parseRedis(std::string_view text) {
  Address address;
  address.kind = Address::Kind::Redis;
  std::string_view rest = text.substr(std::string_view("redis://").size());
  std::size_t at = rest.rfind('@');
  std::string_view place = at == std::string_view::npos ? rest : rest.substr(at + 1);
  address.text = fmt::format("redis://{}", place);
  if (at != std::string_view::npos) {
    std::string_view password = rest.substr(0, at);
    std::optional<std::string_view> user = takeUpTo(password, ':');
    std::optional<std::string> name = decoded(user.value_or("")), secret = decoded(password);
    if (!user || !name || !secret || secret->empty())
      return wrong(address.text, "has a user without a password, or a wrong %XX");
    address.user = *std::move(name);
    address.password = *std::move(secret);
  }
  std::string_view server = place;
  if (std::optional<std::string_view> front = takeUpTo(place, '/')) {
    server = *front;
    std::optional<int> database = numberOf(place, 1 << 20);
    if (!place.empty() && !database)
      return wrong(address.text, "has a database that is no number");
    address.database = database.value_or(0);
  }
  std::optional<int> port;
  if (!readHost(server, address.host, port)) // it may be a password that was cut at a comma
    return wrong("redis://...", "has no host, or a port that is none; in a password , | @ and "
                                "spaces are written %2C %7C %40 and %20");
  if (address.host.starts_with('['))
    address.host = address.host.substr(1, address.host.size() - 2);
  address.port = port.value_or(address.port);
  return address;
}

/// sockaddr_un has 108 bytes, with the final zero.
constexpr std::size_t longestSocketPath = 107;

Result<Address> parseSocket(std::string_view text, Address::Kind kind) {
  Address address;
  address.kind = kind;
  address.text = text;
  address.socket = text.substr(text.find(':') + 1);
  if (address.socket.starts_with("//")) // unix:///path is a common spelling
    address.socket.erase(0, 2);
  if (!address.socket.starts_with('/'))
    return wrong(text, "is not the whole path of a socket");
  if (address.socket.size() > longestSocketPath)
    return wrong(text, fmt::format("is longer than the {} bytes that a socket's path may have",
                                   longestSocketPath));
  address.url = "http://attncd";
  return address;
}

} // namespace

Result<Address> parseAddress(std::string_view text) {
  if (text.starts_with("http://"))
    return parseHttp(text, text.substr(7));
  if (text.starts_with("https://"))
    return parseHttp(text, text.substr(8));
  if (text.starts_with("unix:"))
    return parseSocket(text, Address::Kind::Http);
  if (text.starts_with("redis+unix:"))
    return parseSocket(text, Address::Kind::Redis);
  if (text.starts_with("redis://"))
    return parseRedis(text);
  // Where there is an @ there may be a password before it.
  return wrong(text.find('@') == std::string_view::npos ? text : text.substr(0, text.find(':')),
               "is of no known kind");
}

namespace {

/// What stands before any of `separators`, which are taken from `text` with it.
std::string_view takeWord(std::string_view &text, const char *separators) {
  std::string_view word = text.substr(0, text.find_first_of(separators));
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
  return word;
}

} // namespace

Result<std::vector<Shards>> parseAddresses(std::string_view text) {
  constexpr const char *separators = " \t\r\n,";
  std::vector<Shards> stores;
  std::set<std::string> known;
  text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
  while (!text.empty()) {
    std::string_view store = takeWord(text, separators);
    stores.emplace_back();
    do {
      Result<Address> address = parseAddress(takeWord(store, "|"));
      if (!address)
        return address.error();
      if (!known.insert(address->text).second)
        return wrong(address->text, "stands twice");
      stores.back().push_back(*std::move(address));
    } while (!store.empty());
  }
  return stores;
}

std::vector<std::size_t> shardOrder(const Shards &shards, std::string_view key) {
  std::vector<std::pair<cache::Digest, std::size_t>> weights;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    cache::Sha256 hash;
    hash.update(shards[i].text);
    hash.update("\n");
    hash.update(key);
    weights.emplace_back(hash.digest(), i);
  }
  std::sort(weights.rbegin(), weights.rend());
  std::vector<std::size_t> order;
  for (const auto &[weight, shard] : weights)
    order.push_back(shard);
  return order;
}

} // namespace attnc::remote
