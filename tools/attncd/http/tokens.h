// Who may ask for what.
#ifndef ATTNC_TOOLS_ATTNCD_HTTP_TOKENS_H
#define ATTNC_TOOLS_ATTNCD_HTTP_TOKENS_H

#include "attnc/result.h"
#include "runtime/cache/sha256.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::service {

/// What a token allows: bits.
enum Scope : unsigned {
  NoScope = 0,
  ReadEntries = 1,
  WriteEntries = 2,
  CompileSpecs = 4,
  AllScopes = 7
};

/// "read,write" as bits. Error (InvalidArgument): a word that is no scope, one twice, or none.
Result<unsigned> parseScopes(std::string_view text);
/// "read,write"
std::string scopesText(unsigned scopes);

/// Somebody whom a token names.
struct Caller {
  std::string name; ///< letters, digits, '.', '_' and '-', for logs
  unsigned scopes = NoScope;
};

/// The tokens of a service, of which it knows the digests alone. Immutable.
class Tokens {
public:
  /// A file of lines `NAME SCOPE[,SCOPE...] sha256:HEX`; '#' begins a comment. Errors, which name
  /// the file and the line: InvalidArgument, where a line is something else, a name or a token is
  /// there twice, or there is none; those of remote::readSecretFile.
  static Result<Tokens> read(const std::string &file);

  /// Whose token it is. The time that it takes says nothing about the tokens that there are.
  std::optional<Caller> find(std::string_view token) const;
  std::size_t size() const { return known.size(); }

private:
  struct Known {
    Caller caller;
    cache::Digest digest;
  };
  Status add(std::string_view line);

  std::vector<Known> known;
};

/// A new token: 43 letters and digits of the system's random numbers, 256 bits. Error
/// (Environment): there are none.
Result<std::string> makeToken();
/// The line of `token` for the file.
std::string tokenLine(std::string_view name, unsigned scopes, std::string_view token);
/// Whether callers may be called so.
bool isCallerName(std::string_view name);

} // namespace attnc::service

#endif
