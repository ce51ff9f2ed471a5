#pragma once

/// Where a remote tier is, as ATTNC_REMOTE names it.

#include "attnc/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc::remote {

struct Address {
  enum class Kind { Http, Redis };
  Kind kind = Kind::Http;
  std::string text; ///< as it was given, without a password, for people
  /// Of a Unix socket; empty: TCP.
  std::string socket;
  /// Http: what the path of an entry is appended to, "http://host:port/base", without a slash at
  /// the end.
  std::string url;
  /// Redis: the server and what it is told first.
  std::string host;
  int port = 6379;
  std::string user, password;
  int database = 0;
};

/// Reads one of
///
///   http://HOST[:PORT][/PATH]   https://HOST[:PORT][/PATH]   unix:/PATH/OF/SOCKET
///   redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]         redis+unix:/PATH/OF/SOCKET
///
/// HOST may be [ADDRESS] for IPv6. Error (InvalidArgument): what is wrong with it.
Result<Address> parseAddress(std::string_view text);

/// Several, separated by white space or commas; an address that stands twice is an error too.
Result<std::vector<Address>> parseAddresses(std::string_view text);

} // namespace attnc::remote
