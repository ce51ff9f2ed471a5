#include "tools/attncd/options.h"

#include "runtime/cache/directory.h"
#include "runtime/cache/store.h"
#include "runtime/program/byte_count.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

namespace attnc::service {

namespace {

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

Status readBytes(const char *option, const std::string &text, std::uint64_t &bytes) {
  Result<std::int64_t> count = parseBytes(text);
  if (!count)
    return invalidArgument(fmt::format("{}: {}", option, count.error().message),
                           count.error().remedy);
  if (*count < 1)
    return invalidArgument(fmt::format("{}: nothing would fit into {}", option, text),
                           "name a size as 64MiB");
  bytes = static_cast<std::uint64_t>(*count);
  return {};
}

} // namespace

OptionTexts::OptionTexts(CLI::App &command) {
  plain.pool.workers = cores();
  plain.threads = std::max(2, std::min(cores(), 16));
  auto text = [&](const char *name, std::string &value, const char *help) {
    return command.add_option(name, value, help);
  };
  auto number = [&](const char *name, auto &value, const char *help, auto least, auto most) {
    command.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
  };
  text("--listen", listen, "tcp:HOST:PORT (port 0: any that is free) or unix:PATH");
  text("--key-file", plain.keyFile, "The fleet's key: a line of 64 hexadecimal digits");
  text("--tokens", plain.tokensFile,
       "Who may do what; on a Unix socket everybody who may connect may do all without it");
  text("--tls-cert", plain.certificateFile, "Certificate chain (PEM); turns TLS on");
  text("--tls-key", plain.keyOfCertificateFile, "Its private key (PEM)");
  text("--cache-dir", plain.cacheDirectory,
       "Where entries are; else $XDG_CACHE_HOME/attncd or ~/.cache/attncd");
  text("--cache-size", cacheSize, "What they may take, e.g. 4GiB; else that of the cache");
  text("--memory-size", memorySize, "Entries that are asked for often are kept in memory")
      ->capture_default_str();
  text("--max-upload", maxUpload, "The largest entry that is taken")->capture_default_str();
  number("--workers", plain.pool.workers, "Processes that compile", 1, 1024);
  number("--queue", plain.pool.queue, "Compilations that may wait", 0, 100000);
  number("--time-limit", plain.pool.limits.seconds, "Of one compilation, in seconds", 0.1, 86400.0);
  text("--memory-limit", memoryLimit, "Of one worker")->capture_default_str();
  number("--kernel-limit", plain.pool.limits.kernels, "Of one program", 1, 1000000);
  text("--output-limit", outputLimit, "Of one program's file")->capture_default_str();
  number("--threads", plain.threads, "That serve connections", 1, 256);
  number("--max-connections", plain.maxConnections, "At once", 1, 100000);
  number("--client-seconds", plain.patienceSeconds,
         "A client that takes longer to send a request, or to take its answer, is cut off", 1,
         3600);
  command.add_flag("--explorer", plain.explorer,
                   "Also the page of `attnc serve`: whoever may compile may run specs here");
  number("--drain-seconds", plain.drainSeconds, "To answer what was accepted, after SIGTERM", 0,
         86400);
}

Status OptionTexts::readSizes(DaemonOptions &options) const {
  struct Size {
    const char *option;
    const std::string &text;
    std::uint64_t &bytes;
  };
  for (const Size &size : {Size{"--memory-size", memorySize, options.memoryBytes},
                           Size{"--max-upload", maxUpload, options.maxUploadBytes},
                           Size{"--memory-limit", memoryLimit, options.pool.limits.memoryBytes},
                           Size{"--output-limit", outputLimit, options.pool.limits.outputBytes}})
    if (Status status = readBytes(size.option, size.text, size.bytes); !status)
      return status;
  return {};
}

Status OptionTexts::readCache(DaemonOptions &options) const {
  // Not the user's own: what lies in this one is sealed for the fleet.
  if (std::filesystem::path users = cache::userCacheFolder();
      options.cacheDirectory.empty() && !users.empty())
    options.cacheDirectory = users.parent_path() / "attncd";
  if (options.cacheDirectory.empty())
    return invalidArgument("there is no directory for entries: there is no home",
                           "--cache-dir names one");
  const char *inherited = std::getenv("ATTNC_CACHE_SIZE");
  options.cacheBytes = cache::defaultMaxBytes;
  if (!cacheSize.empty())
    return readBytes("--cache-size", cacheSize, options.cacheBytes);
  if (inherited && *inherited)
    return readBytes("ATTNC_CACHE_SIZE", inherited, options.cacheBytes);
  return {};
}

Result<DaemonOptions> OptionTexts::values() const {
  DaemonOptions options = plain;
  if (listen.empty())
    return invalidArgument(
        "--listen is missing",
        "as --listen tcp:127.0.0.1:8470 or --listen unix:/run/attnc/attncd.sock");
  Result<ListenAddress> address = ListenAddress::parse(listen);
  if (!address)
    return invalidArgument("--listen: " + address.error().message, address.error().remedy);
  options.listen = *address;
  if (options.keyFile.empty())
    return invalidArgument(
        "--key-file is missing",
        "`openssl rand -hex 32 > fleet.key; chmod 600 fleet.key` makes a key for "
        "all machines of the fleet");
  if (options.tokensFile.empty() && !options.listen.isUnix)
    return invalidArgument(
        "--tokens is missing: everybody who reaches the port could do all",
        "`attncd token NAME --scopes read` prints a line for the file, or listen "
        "at a Unix socket");
  if (options.certificateFile.empty() != options.keyOfCertificateFile.empty())
    return invalidArgument("TLS needs --tls-cert and --tls-key", "give both, or neither");
  if (Status status = readSizes(options); !status)
    return status.error();
  if (Status status = readCache(options); !status)
    return status.error();
  options.pool.environment = {"ATTNC_CACHE=on", "ATTNC_CACHE_DIR=" + options.cacheDirectory,
                              fmt::format("ATTNC_CACHE_SIZE={}", options.cacheBytes)};
  return options;
}

} // namespace attnc::service
