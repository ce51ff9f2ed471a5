#pragma once

/// attncd, or a plain store that knows GET and PUT.

#include "runtime/remote/curl.h"
#include "runtime/remote/endpoint.h"

#include <atomic>

namespace attnc::remote {

/// GET, HEAD and PUT of URL/v1/TIER/KEY, and POST of URL/v1/compile, which a plain store refuses.
class HttpEndpoint : public Endpoint {
public:
  HttpEndpoint(const Address &address, const std::string &token, const std::string &authorities,
               Patience patience);

  Result<std::optional<std::string>> get(cache::Tier tier, const std::string &key,
                                         std::uint64_t maxBytes) override;
  Status put(cache::Tier tier, const std::string &key, std::string_view sealed) override;
  bool mayCompile() const override { return compiles; }
  Result<CompileAnswer> compile(const std::string &request, const std::string &build,
                                std::chrono::seconds longest) override;
  Result<ServerState> describe() override;

private:
  HttpRequest requestFor(const std::string &method, const std::string &path) const;

  const std::string url, authorization;
  const Patience patience;
  HttpClient client;
  std::atomic<bool> compiles = true; ///< until it says that it does not
};

} // namespace attnc::remote
