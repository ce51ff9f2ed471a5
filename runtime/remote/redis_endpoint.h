#pragma once

/// Redis, or what speaks its protocol.

#include "runtime/remote/endpoint.h"

#include <memory>
#include <mutex>
#include <vector>

struct redisContext;

namespace attnc::remote {

/// GET, SET and INFO of attnc:v1:TIER:KEY. What the server keeps, and for how long, is its own
/// configuration (maxmemory-policy allkeys-lru).
class RedisEndpoint : public Endpoint {
public:
  RedisEndpoint(Address address, Patience patience)
      : address(std::move(address)), patience(patience) {}
  ~RedisEndpoint() override;

  Result<std::optional<std::string>> get(cache::Tier tier, const std::string &key,
                                         std::uint64_t maxBytes) override;
  Status put(cache::Tier tier, const std::string &key, std::string_view sealed) override;
  Result<ServerState> describe() override;

private:
  struct Reply {
    enum class Kind { Text, Status, Error, Nothing, Number } kind = Kind::Nothing;
    std::string text;
    long long number = 0;
  };
  /// A connection, and when what is asked must be there.
  class Call;

  /// One that waits; null: none does.
  std::unique_ptr<Call> reuse();
  Result<std::unique_ptr<Call>> connect();
  Result<Reply> answered(std::unique_ptr<Call> call, const std::vector<std::string_view> &words,
                         std::uint64_t maxBytes);
  /// Keeps the connection for the next call.
  void end(std::unique_ptr<Call> call);
  Result<Reply> ask(const std::vector<std::string_view> &words, std::uint64_t maxBytes);

  const Address address;
  const Patience patience;
  std::mutex mutex;
  std::vector<redisContext *> idle;
  pid_t owner = 0; ///< the process that has made them
};

} // namespace attnc::remote
