#pragma once

/// The remote tier: one or more servers, asked in order, none of them trusted.

#include "runtime/cache/remote_tier.h"
#include "runtime/remote/breaker.h"
#include "runtime/remote/endpoint.h"
#include "runtime/remote/fleet_keys.h"

#include <atomic>
#include <memory>
#include <vector>

namespace attnc::remote {

/// A compressed entry is at most as long as this, sealed; attncd takes no longer one either.
inline constexpr std::uint64_t maxSealedBytes = std::uint64_t(64) << 20;

struct RemoteOptions {
  std::vector<Shards> stores;
  std::string token;       ///< for attncd; may be empty
  std::string authorities; ///< a PEM file in place of the system's, for https; may be empty
  bool readOnly = false;   ///< nothing is given
  Patience patience;
};

/// One server as doctor and `cache stats` show it.
struct EndpointReport {
  std::string address;
  Result<ServerState> state; ///< or why it does not work
  double milliseconds = 0;   ///< that the question took
};

/// Of the shards of a store the first one that is not left alone is asked (shardOrder). A server
/// that fails is left alone for a while (breaker.h), and what it gives that is not sealed by this
/// fleet counts as a failure. The first failure of the process gives a warning (cache/warning.h).
class Remote : public cache::RemoteTier {
public:
  Remote(const RemoteOptions &options, FleetKeys keys);

  /// Of the environment; docs/service.md says what they mean.
  static constexpr const char *variables[] = {"ATTNC_REMOTE", "ATTNC_REMOTE_KEY_FILE",
                                              "ATTNC_REMOTE_TOKEN_FILE", "ATTNC_REMOTE_CA",
                                              "ATTNC_REMOTE_MODE"};
  /// What they name. Null: ATTNC_REMOTE is empty. Error: one
  /// of them is wrong, or there is no key.
  static Result<std::shared_ptr<Remote>> ofUser();

  std::optional<std::string> get(cache::Tier tier, const std::string &key) override;
  void put(cache::Tier tier, const std::string &key, std::string_view entry) override;
  std::optional<Result<std::string>> compile(const std::string &request, const std::string &build,
                                             const std::string &key, Error &unreached) override;

  /// Asks every server now, whatever happened before.
  std::vector<EndpointReport> examine();

private:
  struct Server {
    Address address;
    std::unique_ptr<Endpoint> endpoint;
    Breaker breaker;
    Breaker compiling; ///< its own: who has no compiler asks also where entries were slow
    Breaker giving;    ///< so is that of what it is given: a full disk can be read
    std::atomic<bool> gives = true, takes = true; ///< until it says that it is not for us
  };

  struct Store {
    Shards addresses;
    std::vector<std::unique_ptr<Server>> servers; ///< in their order
    /// In the order in which they are asked for a key.
    std::vector<Server *> serversFor(const std::string &key) const;
  };

  void failed(const Server &server, Breaker &breaker, Breaker::Clock::time_point began,
              const Error &why);
  /// Nothing: none of its shards has it, or can be reached.
  std::optional<std::string> getFrom(const Store &store, cache::Tier tier, const std::string &key);
  /// Error: it is no entry of this fleet, or another one than was asked for.
  Result<std::string> checked(cache::Tier tier, const std::string &key,
                              std::string_view sealed) const;
  /// False: it cannot be reached.
  bool putTo(Server &server, cache::Tier tier, const std::string &key, std::string_view sealed);
  void putTo(const Store &store, cache::Tier tier, const std::string &key, std::string_view sealed);
  std::optional<Result<std::string>> compileAt(Server &server, const std::string &request,
                                               const std::string &build, const std::string &key,
                                               Breaker::Clock::time_point deadline,
                                               Error &unreached);

  const FleetKeys keys;
  const bool readOnly;
  std::vector<Store> stores;
};

} // namespace attnc::remote
