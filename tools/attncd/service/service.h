// What the service answers, whatever carries the requests.
#ifndef ATTNC_TOOLS_ATTNCD_SERVICE_SERVICE_H
#define ATTNC_TOOLS_ATTNCD_SERVICE_SERVICE_H

#include "tools/attncd/http/route.h"
#include "tools/attncd/log.h"
#include "tools/attncd/service/answer.h"
#include "tools/attncd/service/explorer_answers.h"
#include "tools/attncd/service/sealed_entries.h"
#include "tools/attncd/service/work_queue.h"
#include "tools/attncd/workers/compiler.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace attnc::service {

/// A request without its body.
struct RequestHead {
  std::string method, path;
  std::optional<std::string> authorization, accept;
  bool hasBody = false;
  std::optional<std::uint64_t> bodyBytes; ///< where the client says it
};

/// A request that was let in.
struct Request {
  Route route;
  Method method = Method::Other;
  Caller caller;
  bool wantsEntry = false; ///< of a compilation: sealed, and not the program file
  std::uint64_t maxBodyBytes = 0;
  /// The answer, where the head and memory alone decide it.
  std::optional<Answer> answer;
};

struct ServiceOptions {
  /// Null: everybody who may connect may do all.
  std::shared_ptr<const Tokens> tokens;
  std::uint64_t maxEntryBytes = std::uint64_t(64) << 20; ///< of a PUT, sealed
  int workThreads = 2;
  int explorerCommands = 0; ///< that run beside each other; 0: there is no explorer
};

/// The longest text of a request to compile.
inline constexpr std::uint64_t maxCompileBytes = std::uint64_t(2) << 20;

/// Thread-safe.
class Service {
public:
  /// The others live for as long as this does.
  Service(ServiceOptions options, SealedEntries &entries, Compiler &compiler, Metrics &metrics,
          Log &log);

  /// First who it is, then what it asks for: without a token that is known the answer is the same
  /// for everything. Does not wait for anything.
  Request admit(const RequestHead &head);

  using Answered = std::function<void(Answer)>;
  /// The answer of a request that has none yet. `answered` is called once, by any thread, perhaps
  /// before this returns.
  void perform(const Request &request, std::string body, Answered answered);

  /// From now on: others than the old tokens, if there are some.
  void setTokens(std::shared_ptr<const Tokens> tokens);
  /// From now on: not ready, and each answer is its connection's last.
  void drain() { drains = true; }
  bool isDraining() const { return drains; }

  /// What the server knows, for the metrics; the rest is added.
  using Observe = std::function<void(Moment &)>;
  void setObserver(Observe observe) { observer = std::move(observe); }

private:
  std::optional<Caller> callerOf(const RequestHead &head) const;
  Answer ready() const;
  std::optional<Answer> quickAnswer(const Request &request, std::string_view path);
  Answer guarded(const std::function<Answer()> &answer);
  Answer slowAnswer(const Request &request, const std::string &body);
  Answer getEntry(const Request &request);
  Answer putEntry(const Request &request, const std::string &body);
  Answer status();
  Answer metricsText();
  void compile(const Request &request, std::string body, Answered answered);
  Answer compiled(const CompileAnswer &result, bool wantsEntry);

  const ServiceOptions options;
  SealedEntries &entries;
  Compiler &compiler;
  Metrics &metrics;
  Log &log;
  const std::string specs; ///< the answer to /v1/specs
  std::atomic<std::shared_ptr<const Tokens>> tokens;
  std::atomic<bool> drains = false;
  Observe observer;
  std::unique_ptr<ExplorerAnswers> explorer;
  WorkQueue work; ///< last: what it runs uses the others
};

} // namespace attnc::service

#endif
