#include "runtime/remote/remote.h"

#include "runtime/cache/warning.h"
#include "runtime/remote/http_endpoint.h"
#include "runtime/remote/redis_endpoint.h"
#include "runtime/remote/sealed_entry.h"
#include "runtime/remote/secret_file.h"

#include <cstdlib>
#include <fmt/format.h>
#include <random>
#include <thread>

namespace attnc::remote {

namespace {

using Clock = Breaker::Clock;

// A service compiles for a minute at most, after others that came before.
constexpr std::chrono::seconds longestCompilation{180};

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

Result<std::string> readToken(const std::string &file) {
  if (file.empty())
    return std::string();
  Result<std::string> text = readSecretFile(file);
  if (!text)
    return text.error();
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  for (unsigned char c : *text)
    if (c <= ' ' || c > '~')
      return invalidArgument(file + " is no token: it has more than one word");
  return text;
}

/// Others wait as long: they should not all come back at once.
std::chrono::milliseconds jittered(std::chrono::seconds wait) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> factor(0.75, 1.25);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * factor(random) * static_cast<double>(wait.count())));
}

} // namespace

Result<CompileAnswer> Endpoint::compile(const std::string &, const std::string &,
                                        std::chrono::seconds) {
  return CompileAnswer{}; // a store
}

std::unique_ptr<Endpoint> connectLater(const Address &address, const std::string &token,
                                       const std::string &authorities, Patience patience) {
  if (address.kind == Address::Kind::Redis)
    return std::make_unique<RedisEndpoint>(address, patience);
  return std::make_unique<HttpEndpoint>(address, token, authorities, patience);
}

Remote::Remote(const RemoteOptions &options, FleetKeys keys)
    : keys(std::move(keys)), readOnly(options.readOnly) {
  for (const Shards &shards : options.stores) {
    stores.push_back({shards, {}});
    for (const Address &address : shards) {
      auto server = std::make_unique<Server>();
      server->address = address;
      server->endpoint =
          connectLater(address, options.token, options.authorities, options.patience);
      stores.back().servers.push_back(std::move(server));
    }
  }
}

std::vector<Remote::Server *> Remote::Store::serversFor(const std::string &key) const {
  std::vector<Server *> ordered;
  for (std::size_t shard : shardOrder(addresses, key))
    ordered.push_back(servers[shard].get());
  return ordered;
}

Result<std::shared_ptr<Remote>> Remote::ofUser() {
  Result<std::vector<Shards>> stores = parseAddresses(variable("ATTNC_REMOTE"));
  if (!stores)
    return invalidArgument("ATTNC_REMOTE: " + stores.error().message, stores.error().remedy);
  if (stores->empty())
    return std::shared_ptr<Remote>();
  std::string keyFile = variable("ATTNC_REMOTE_KEY_FILE"), mode = variable("ATTNC_REMOTE_MODE");
  if (keyFile.empty())
    return invalidArgument(
        "ATTNC_REMOTE is set, but there is no key",
        "ATTNC_REMOTE_KEY_FILE names the file with the fleet's key; nothing that "
        "is not sealed with it is loaded");
  if (!mode.empty() && mode != "read" && mode != "readwrite")
    return invalidArgument(fmt::format("ATTNC_REMOTE_MODE is '{}'", mode),
                           "it is read or readwrite");
  Result<FleetKeys> keys = FleetKeys::read(keyFile);
  if (!keys)
    return keys.error();
  Result<std::string> token = readToken(variable("ATTNC_REMOTE_TOKEN_FILE"));
  if (!token)
    return token.error();
  RemoteOptions options;
  options.stores = *std::move(stores);
  options.token = *std::move(token);
  options.authorities = variable("ATTNC_REMOTE_CA");
  options.readOnly = mode == "read";
  return std::make_shared<Remote>(options, *std::move(keys));
}

void Remote::failed(const Server &server, Breaker &breaker, Clock::time_point began,
                    const Error &why) {
  breaker.failed(began);
  cache::warnOnce(environmentError(fmt::format("the remote cache {} is left alone for a while: {}",
                                               server.address.text, why.message),
                                   why.remedy.empty() ? "`attnc doctor` says more" : why.remedy));
}

Result<std::string> Remote::checked(cache::Tier tier, const std::string &key,
                                    std::string_view sealed) const {
  Result<std::string_view> entry = unseal(keys, sealed);
  if (!entry)
    return entry.error();
  Result<std::string> value = cache::decodeEntry(tier, key, *entry);
  return value ? Result<std::string>(std::string(*entry)) : value.error();
}

std::optional<std::string> Remote::getFrom(const Store &store, cache::Tier tier,
                                           const std::string &key) {
  for (Server *server : store.serversFor(key)) {
    Clock::time_point began = Clock::now();
    if (!server->gives || !server->breaker.allows(began))
      continue;
    Result<std::optional<std::string>> sealed = server->endpoint->get(tier, key, maxSealedBytes);
    server->gives = sealed || sealed.error().kind == ErrorKind::Environment;
    if (!server->gives || (sealed && !*sealed)) {
      server->breaker.succeeded();
      return std::nullopt;
    }
    Result<std::string> entry =
        sealed ? checked(tier, key, **sealed) : Result<std::string>(sealed.error());
    if (entry) {
      server->breaker.succeeded();
      return *std::move(entry);
    }
    failed(*server, server->breaker, began, entry.error());
  }
  return std::nullopt;
}

std::optional<std::string> Remote::get(cache::Tier tier, const std::string &key) {
  for (const Store &store : stores)
    if (std::optional<std::string> entry = getFrom(store, tier, key))
      return entry;
  return std::nullopt;
}

bool Remote::putTo(Server &server, cache::Tier tier, const std::string &key,
                   std::string_view sealed) {
  Clock::time_point began = Clock::now();
  if (!server.giving.allows(began))
    return false;
  Status status = server.takes ? server.endpoint->put(tier, key, sealed) : Status();
  if (!status && status.error().kind == ErrorKind::Environment) {
    failed(server, server.giving, began, status.error());
    return false;
  }
  server.takes = server.takes && status.ok();
  server.giving.succeeded();
  return true;
}

void Remote::putTo(const Store &store, cache::Tier tier, const std::string &key,
                   std::string_view sealed) {
  for (Server *server : store.serversFor(key))
    if (putTo(*server, tier, key, sealed))
      return;
}

void Remote::put(cache::Tier tier, const std::string &key, std::string_view entry) {
  if (readOnly || entry.size() + sealBytes > maxSealedBytes)
    return;
  std::string sealed = seal(keys, entry);
  for (const Store &store : stores)
    putTo(store, tier, key, sealed);
}

std::optional<Result<std::string>> Remote::compileAt(Server &server, const std::string &request,
                                                     const std::string &build,
                                                     const std::string &key,
                                                     Clock::time_point deadline, Error &unreached) {
  auto waits = [&](std::chrono::seconds wait) {
    if (Clock::now() + wait >= deadline)
      return false;
    std::this_thread::sleep_for(jittered(wait));
    return true;
  };
  bool isLastTry = false;
  while (true) {
    Clock::time_point began = Clock::now();
    auto left = std::chrono::ceil<std::chrono::seconds>(deadline - began);
    Result<CompileAnswer> answer = server.endpoint->compile(request, build, left);
    if (!answer) {
      unreached = answer.error();
      // A server that was just replaced has closed the connection; what it compiled is not lost.
      if (!std::exchange(isLastTry, true) && waits(std::chrono::seconds(1)))
        continue;
      failed(server, server.compiling, began, answer.error());
      return std::nullopt;
    }
    server.compiling.succeeded();
    if (answer->kind == CompileAnswer::Kind::Refused)
      return Result<std::string>(answer->error);
    if (answer->kind == CompileAnswer::Kind::Compiled) {
      Result<std::string> entry = checked(cache::Tier::Program, key, answer->bytes);
      if (entry)
        return entry;
      unreached = entry.error();
      failed(server, server.compiling, began, entry.error());
      return std::nullopt;
    }
    unreached = answer->error;
    if (answer->kind == CompileAnswer::Kind::Unable || !waits(answer->again))
      return std::nullopt;
  }
}

std::optional<Result<std::string>> Remote::compile(const std::string &request,
                                                   const std::string &build, const std::string &key,
                                                   Error &unreached) {
  Clock::time_point deadline = Clock::now() + longestCompilation;
  for (const Store &store : stores)
    for (Server *server : store.serversFor(key)) {
      if (!server->endpoint->mayCompile() || Clock::now() >= deadline)
        continue;
      if (!server->compiling.allows()) {
        unreached = environmentError(
            fmt::format("{} has failed, and is left alone for a while", server->address.text),
            "`attnc doctor` asks it now");
        continue;
      }
      std::optional<Result<std::string>> compiled =
          compileAt(*server, request, build, key, deadline, unreached);
      if (!compiled) {
        unreached.message = fmt::format("{}: {}", server->address.text, unreached.message);
        continue;
      }
      // This store has it now; the others may not.
      if (*compiled && !readOnly) {
        std::string sealed = seal(keys, **compiled);
        for (const Store &other : stores)
          if (&other != &store)
            putTo(other, cache::Tier::Program, key, sealed);
      }
      return compiled;
    }
  return std::nullopt;
}

std::vector<EndpointReport> Remote::examine() {
  std::vector<EndpointReport> reports;
  for (const Store &store : stores)
    for (const std::unique_ptr<Server> &server : store.servers) {
      Clock::time_point began = Clock::now();
      Result<ServerState> state = server->endpoint->describe();
      std::chrono::duration<double, std::milli> taken = Clock::now() - began;
      reports.push_back({server->address.text, std::move(state), taken.count()});
    }
  return reports;
}

} // namespace attnc::remote
