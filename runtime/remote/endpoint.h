#pragma once

/// A server that keeps entries.

#include "attnc/result.h"
#include "runtime/cache/entry.h"
#include "runtime/remote/address.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace attnc::remote {

/// How long a server may take. A connection is shorter than that: who does not answer then is dead.
struct Patience {
  std::chrono::milliseconds connect{100}, transfer{2000};
};

/// What a server says of itself.
struct ServerState {
  std::string text;  ///< what it is and how much it holds, for people
  std::string build; ///< of attncd: that of attnc for which it compiles
};

/// What a server says to a request to compile.
struct CompileAnswer {
  enum class Kind { Compiled, Refused, Busy, Unable };
  /// Compiled: `bytes` is a sealed entry. Refused: the spec has an `error`, as it would have here.
  /// Busy: to be asked again after `again`. Unable: this server does not compile, or not for us
  /// (`error`).
  Kind kind = Kind::Unable;
  std::string bytes;
  Error error;
  std::chrono::seconds again{1};
};

/// Keeps sealed entries under their tiers and keys. Nothing that it gives is trusted. Errors
/// (Environment): it cannot be reached, takes too long, answers something that it should not, or
/// more than `maxBytes`. Thread-safe.
class Endpoint {
public:
  virtual ~Endpoint() = default;

  /// Nothing: it has no such entry.
  virtual Result<std::optional<std::string>> get(cache::Tier tier, const std::string &key,
                                                 std::uint64_t maxBytes) = 0;
  /// Error (InvalidArgument): it takes nothing from us.
  virtual Status put(cache::Tier tier, const std::string &key, std::string_view sealed) = 0;
  /// Whether compile may be called.
  virtual bool mayCompile() const { return false; }
  /// Waits until it is compiled. `request` is the JSON of docs/service.md, `build` that of the
  /// caller.
  virtual Result<CompileAnswer> compile(const std::string &request, const std::string &build,
                                        std::chrono::seconds longest);
  virtual Result<ServerState> describe() = 0;
};

/// `token` and `authorities` are those of Http: the bearer token, and a PEM file in place of the
/// system's; either may be empty.
std::unique_ptr<Endpoint> connectLater(const Address &address, const std::string &token,
                                       const std::string &authorities, Patience patience = {});

} // namespace attnc::remote
