#include "tools/attncd/daemon.h"

#include "compiler/jit/build_id.h"
#include "runtime/cache/warning.h"
#include "runtime/remote/remote.h"
#include "runtime/remote/secret_file.h"
#include "tools/attncd/http/http_server.h"
#include "tools/attncd/supervisor.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace attnc::service {

namespace {

using Clock = std::chrono::steady_clock;

/// Who has asked for something just now may ask again on the same connection.
constexpr std::chrono::milliseconds quietBeforeEnd{500};

sigset_t ourSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int one : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&signals, one);
  return signals;
}

/// The certificate and its key, which is nobody else's to write.
Status readTls(const DaemonOptions &options, HttpOptions &http) {
  if (options.certificateFile.empty())
    return {};
  Result<std::string> certificate = remote::readSecretFile(options.certificateFile);
  if (!certificate)
    return certificate.error();
  Result<std::string> key = remote::readSecretFile(options.keyOfCertificateFile);
  if (!key)
    return key.error();
  http.certificate = *std::move(certificate);
  http.key = *std::move(key);
  return {};
}

/// As many files as the system lets us open.
void raiseFileLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Large buffers go back to the system when they are freed, not into the heap.
void boundHeap() {
  ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
  ::mallopt(M_ARENA_MAX, 4);
}

class Daemon {
public:
  Daemon(const DaemonOptions &options, std::shared_ptr<cache::Store> store, remote::FleetKeys keys,
         std::shared_ptr<const Tokens> tokens, std::unique_ptr<Compiler> compiler)
      : options(options), metrics(ATTNC_VERSION, buildId()),
        entries(std::move(store), std::move(keys), metrics, options.memoryBytes),
        compiler(std::move(compiler)),
        service({.tokens = std::move(tokens),
                 .maxEntryBytes = options.maxUploadBytes + remote::sealBytes,
                 .explorerCommands = options.explorer ? options.pool.workers : 0},
                entries, *this->compiler, metrics, log) {}

  /// Says which servers of our own remote tier work. One that does not may do so later.
  void examine(remote::Remote &remote);
  Status start();
  void serve();
  void drain();

private:
  bool handleSignal();
  void acceptAll();
  void readTokens();
  bool waitUntilIdle(Clock::time_point deadline);

  const DaemonOptions &options;
  Log log{STDERR_FILENO};
  Metrics metrics;
  SealedEntries entries;
  std::unique_ptr<Compiler> compiler;
  Service service;
  std::unique_ptr<HttpServer> http;
  std::optional<Listener> listener;
  int signals = -1;
};

void Daemon::examine(remote::Remote &remote) {
  for (const remote::EndpointReport &report : remote.examine()) {
    bool works = report.state.ok();
    log.write(works ? "info" : "warning", "remote",
              {{"address", report.address},
               {"works", works},
               {works ? "text" : "why", works ? report.state->text : report.state.error().text()}});
  }
}

Status Daemon::start() {
  HttpOptions wanted;
  wanted.isUnix = options.listen.isUnix;
  wanted.threads = options.threads;
  wanted.maxConnections = static_cast<std::size_t>(options.maxConnections);
  wanted.patience = std::chrono::seconds(options.patienceSeconds);
  wanted.maxUploadBytes = 4 * (options.maxUploadBytes + remote::sealBytes);
  if (Status status = readTls(options, wanted); !status)
    return status;
  Result<Listener> listening = Listener::open(options.listen);
  if (!listening)
    return listening.error();
  listener.emplace(*std::move(listening));
  Result<std::unique_ptr<HttpServer>> started =
      HttpServer::start(std::move(wanted), service, metrics, log);
  if (!started)
    return started.error();
  http = *std::move(started);
  service.setObserver([this](Moment &moment) { http->observe(moment); });
  cache::setWarning(
      [this](const Error &error) { log.write("warning", "cache", {{"what", error.text()}}); });
  sigset_t all = ourSignals();
  signals = ::signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0)
    return environmentError(fmt::format("signals cannot be taken: {}", std::strerror(errno)));
  log.write("info", "listening",
            {{"address", listener->text()},
             {"tls", !options.certificateFile.empty()},
             {"version", ATTNC_VERSION},
             {"build", buildId()},
             {"workers", options.pool.workers},
             {"cache", options.cacheDirectory}});
  tellSupervisor("READY=1");
  return {};
}

void Daemon::serve() {
  auto lastLook = Clock::now();
  for (;;) {
    bool accepts = http->hasRoom();
    pollfd files[] = {{signals, POLLIN, 0}, {accepts ? listener->descriptor() : -1, POLLIN, 0}};
    // Where there is no room, somebody else's end makes it, and nobody says so.
    ::poll(files, 2, accepts ? 1000 : 20);
    if (Clock::now() - lastLook > std::chrono::milliseconds(500)) {
      lastLook = Clock::now();
      http->cutSlow();
    }
    if ((files[0].revents & POLLIN) && handleSignal())
      return;
    if (files[1].revents & POLLIN)
      acceptAll();
  }
}

/// True: it is time to end.
bool Daemon::handleSignal() {
  signalfd_siginfo signal = {};
  bool ends = false;
  while (::read(signals, &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGHUP)
      readTokens();
    else
      ends = true;
  }
  return ends;
}

void Daemon::acceptAll() {
  while (http->hasRoom()) {
    int socket = ::accept4(listener->descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      http->add(socket);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED)
      continue;
    if (errno != EAGAIN) { // no more files, say: what is open has to end first
      log.write("error", "accept", {{"why", std::strerror(errno)}});
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return;
  }
}

void Daemon::readTokens() {
  if (options.tokensFile.empty())
    return;
  Result<Tokens> tokens = Tokens::read(options.tokensFile);
  if (!tokens) {
    log.write("error", "tokens", {{"why", tokens.error().text()}, {"kept", true}});
    return;
  }
  log.write("info", "tokens", {{"count", tokens->size()}});
  service.setTokens(std::make_shared<const Tokens>(*std::move(tokens)));
}

/// A second signal, or the deadline: false.
bool Daemon::waitUntilIdle(Clock::time_point deadline) {
  while (!http->isIdle(quietBeforeEnd)) {
    if (Clock::now() >= deadline || handleSignal())
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    http->cutSlow();
  }
  return true;
}

void Daemon::drain() {
  log.write("info", "draining", {{"seconds", options.drainSeconds}});
  tellSupervisor("STOPPING=1");
  service.drain();
  acceptAll(); // who has connected is not sent away
  listener->close();
  std::thread jobs([this] { compiler->drain(); });
  if (waitUntilIdle(Clock::now() + std::chrono::seconds(options.drainSeconds))) {
    jobs.join();
    http.reset();
    ::close(signals);
    log.write("info", "ended");
    return;
  }
  // What still compiles is not waited for: its clients are told, and the workers go with us.
  http->answerAll(refuseForNow(503,
                               {"draining", "attncd ended before this was compiled",
                                "ask another one, or raise --drain-seconds"},
                               2));
  waitUntilIdle(Clock::now() + std::chrono::seconds(1));
  log.write("warning", "ended", {{"unfinished", true}});
  log.flush();
  std::_Exit(0);
}

} // namespace

Status runDaemon(const DaemonOptions &options) {
  sigset_t signals = ourSignals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  raiseFileLimit();
  boundHeap();
  Result<remote::FleetKeys> keys = remote::FleetKeys::read(options.keyFile);
  if (!keys)
    return keys.error();
  std::shared_ptr<const Tokens> tokens;
  if (!options.tokensFile.empty()) {
    Result<Tokens> read = Tokens::read(options.tokensFile);
    if (!read)
      return read.error();
    tokens = std::make_shared<const Tokens>(*std::move(read));
  }
  // The workers have it of the same environment, and would go on without it.
  Result<std::shared_ptr<remote::Remote>> remote = remote::Remote::ofUser();
  if (!remote)
    return remote.error();
  cache::StoreOptions where;
  where.directory = options.cacheDirectory;
  where.maxBytes = options.cacheBytes;
  Result<std::shared_ptr<cache::Store>> store = cache::Store::open(where);
  if (!store)
    return store.error();
  Result<std::unique_ptr<CompilePool>> pool = CompilePool::start(options.pool);
  if (!pool)
    return pool.error();
  Daemon daemon(options, *store, *std::move(keys), std::move(tokens), *std::move(pool));
  if (*remote)
    daemon.examine(**remote);
  if (Status status = daemon.start(); !status)
    return status;
  daemon.serve();
  daemon.drain();
  return {};
}

} // namespace attnc::service
