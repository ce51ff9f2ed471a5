#include "tools/attncd/http/tokens.h"

#include "runtime/cache/hmac.h"
#include "runtime/remote/secret_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <sys/random.h>
#include <utility>

namespace attnc::service {

namespace {

constexpr std::pair<std::string_view, Scope> scopeNames[] = {
    {"read", ReadEntries}, {"write", WriteEntries}, {"compile", CompileSpecs}};

constexpr std::string_view lineForm = "a line is NAME SCOPE[,SCOPE...] sha256:HEX; `attncd token "
                                      "NAME --scopes read` prints one";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view withoutComment(std::string_view line) {
  line = line.substr(0, line.find('#'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
    line.remove_suffix(1);
  return line;
}

std::vector<std::string> wordsOf(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

} // namespace

Result<unsigned> parseScopes(std::string_view text) {
  unsigned scopes = NoScope;
  for (std::string_view word : split(text, ',')) {
    auto *found = std::find_if(std::begin(scopeNames), std::end(scopeNames),
                               [&](const auto &scope) { return scope.first == word; });
    if (found == std::end(scopeNames))
      return invalidArgument(fmt::format("'{}' is no scope", word),
                             "the scopes are read, write and compile, separated by commas");
    if (scopes & found->second)
      return invalidArgument(fmt::format("the scope {} is there twice", word));
    scopes |= found->second;
  }
  return scopes;
}

std::string scopesText(unsigned scopes) {
  std::vector<std::string_view> words;
  for (auto [name, scope] : scopeNames)
    if (scopes & scope)
      words.push_back(name);
  return fmt::format("{}", fmt::join(words, ","));
}

bool isCallerName(std::string_view name) {
  auto isGood = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), isGood);
}

Status Tokens::add(std::string_view line) {
  std::vector<std::string> words = wordsOf(line);
  Known one;
  if (words.size() != 3 || !isCallerName(words[0]) || !words[2].starts_with("sha256:") ||
      !cache::parseHex(std::string_view(words[2]).substr(7), one.digest))
    return invalidArgument("this is no token", std::string(lineForm));
  Result<unsigned> scopes = parseScopes(words[1]);
  if (!scopes)
    return scopes.error();
  for (const Known &other : known) {
    if (other.caller.name == words[0])
      return invalidArgument(fmt::format("{} is there twice", words[0]), "names are unique");
    if (other.digest == one.digest)
      return invalidArgument(
          fmt::format("{} and {} have the same token", other.caller.name, words[0]),
          "`attncd token` makes another one");
  }
  one.caller = {words[0], *scopes};
  known.push_back(std::move(one));
  return {};
}

Result<Tokens> Tokens::read(const std::string &file) {
  Result<std::string> text = remote::readSecretFile(file);
  if (!text)
    return text.error();
  Tokens tokens;
  int number = 0;
  for (std::string_view line : split(*text, '\n')) {
    ++number;
    line = withoutComment(line);
    if (line.empty())
      continue;
    if (Status status = tokens.add(line); !status)
      return invalidArgument(fmt::format("{}:{}: {}", file, number, status.error().message),
                             status.error().remedy);
  }
  if (tokens.known.empty())
    return invalidArgument(file + " has no token", std::string(lineForm));
  return tokens;
}

std::optional<Caller> Tokens::find(std::string_view token) const {
  cache::Digest digest = cache::sha256(token);
  const Known *found = nullptr;
  for (const Known &one : known) // all of them, whichever it is
    if (cache::equalInConstantTime(one.digest, digest))
      found = &one;
  return found ? std::optional(found->caller) : std::nullopt;
}

Result<std::string> makeToken() {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::uint8_t random[43];
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return environmentError("the system has no random numbers");
  std::string token;
  for (std::uint8_t byte : random)
    token += letters[byte % letters.size()];
  return token;
}

std::string tokenLine(std::string_view name, unsigned scopes, std::string_view token) {
  return fmt::format("{} {} sha256:{}", name, scopesText(scopes),
                     cache::hexOf(cache::sha256(token)));
}

} // namespace attnc::service
