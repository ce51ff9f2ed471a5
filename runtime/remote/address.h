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

/// Servers that divide the entries of one store among them, by key.
using Shards = std::vector<Address>;

/// Several stores, separated by white space or commas; the shards of one are separated by '|'. An
/// address that stands twice is an error too.
Result<std::vector<Shards>> parseAddresses(std::string_view text);

/// The shards in the order in which they are to be asked for a key: rendezvous hashing (Thaler and
/// Ravishankar, 1998). It depends on the addresses alone and not on their order, every shard comes
/// first for as many keys, and without one of them the order of the others stays.
std::vector<std::size_t> shardOrder(const Shards &shards, std::string_view key);

} // namespace attnc::remote
