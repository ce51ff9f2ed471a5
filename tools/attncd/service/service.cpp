#include "tools/attncd/service/service.h"

#include "compiler/jit/build_id.h"
#include "kernels_spec/library.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attnc::service {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view entryType = "application/vnd.attnc.entry";
constexpr std::string_view programType = "application/octet-stream";
/// After which somebody who found too much to do may ask again.
constexpr int retrySeconds = 2;

std::string specsText() {
  Json all = Json::array();
  for (const LibrarySpec &spec : library()) {
    Json json = Json::parse(spec.text, nullptr, /*allow_exceptions=*/false,
                            /*ignore_comments=*/true);
    all.push_back({{"name", spec.name}, {"doc", json.is_object() ? json.value("doc", "") : ""}});
  }
  return Json{{"specs", all}}.dump() + "\n";
}

/// The token of "Bearer TOKEN"; empty where there is none.
std::string_view bearerOf(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  bool isBearer =
      authorization.size() > scheme.size() &&
      std::equal(scheme.begin(), scheme.end(), authorization.begin(),
                 [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  if (!isBearer)
    return {};
  authorization.remove_prefix(scheme.size());
  while (authorization.starts_with(' '))
    authorization.remove_prefix(1);
  return authorization;
}

Answer unauthorized() {
  Answer answer = refuse(401, {"unauthorized", "a token of this service is needed",
                               "send `Authorization: Bearer TOKEN`; `attncd token` makes one, "
                               "ATTNC_REMOTE_TOKEN_FILE hands it to attnc"});
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  answer.closes = true; // as it would be for a body that is not read
  return answer;
}

Answer noMethod(Place place) {
  Answer answer = refuse(405, {"invalid_argument", "this path has no such method",
                               fmt::format("it has {}", methodsOf(place))});
  answer.headers.emplace_back("Allow", methodsOf(place));
  return answer;
}

/// The status of what went wrong in a compilation.
unsigned statusOf(std::string_view kind) {
  constexpr std::pair<std::string_view, unsigned> known[] = {
      {"invalid_argument", 400}, {"other_build", 409}, {"spec", 422},
      {"compilation", 422},      {"limit", 422},       {"draining", 503}};
  for (auto [name, status] : known)
    if (name == kind)
      return status;
  return 500;
}

} // namespace

Service::Service(ServiceOptions given, SealedEntries &entries, Compiler &compiler, Metrics &metrics,
                 Log &log)
    : options(std::move(given)), entries(entries), compiler(compiler), metrics(metrics), log(log),
      specs(specsText()), tokens(options.tokens),
      explorer(options.explorerCommands
                   ? std::make_unique<ExplorerAnswers>(options.explorerCommands)
                   : nullptr),
      work(options.workThreads) {}

void Service::setTokens(std::shared_ptr<const Tokens> other) { tokens = std::move(other); }

std::optional<Caller> Service::callerOf(const RequestHead &head) const {
  std::shared_ptr<const Tokens> known = tokens;
  if (!known)
    return Caller{"local", AllScopes};
  return known->find(bearerOf(head.authorization.value_or("")));
}

Answer Service::ready() const {
  if (drains)
    return refuseForNow(503, {"draining", "attncd is about to end", "ask another one"},
                        retrySeconds);
  if (compiler.stats().alive == 0)
    return refuseForNow(503, {"busy", "no worker works", "see the log of attncd"}, retrySeconds);
  return textAnswer("ready\n");
}

std::optional<Answer> Service::quickAnswer(const Request &request, std::string_view path) {
  const Route &route = request.route;
  if (unsigned missing = scopeOf(route.place, request.method) & ~request.caller.scopes)
    return refuse(403, {"forbidden",
                        fmt::format("the token {} does not have the scope {}", request.caller.name,
                                    scopesText(missing)),
                        "a line of the tokens file says what a token may"});
  if (route.place == Place::Nowhere)
    return refuse(404, {"not_found", "there is no such path", "docs/service.md lists them"});
  if (!allows(route.place, request.method))
    return noMethod(route.place);
  if (route.isEntry() && !route.isKey)
    return refuse(400, {"invalid_argument", "the path does not end with a key",
                        "a key has 64 lower case hexadecimal digits"});
  if (route.place == Place::Health)
    return textAnswer("ok\n");
  if (route.place == Place::Ready)
    return ready();
  if (route.place == Place::Specs)
    return jsonAnswer(specs);
  if (route.place == Place::Page)
    return ExplorerAnswers::file(path);
  if (route.place == Place::About)
    return explorer->about();
  if (route.isEntry() && request.method != Method::Put)
    if (std::optional<SealedEntries::Found> found = entries.find(route.tier(), route.key)) {
      if (found->needsTouch)
        work.add([this, route] { entries.touch(route.tier(), route.key); });
      Answer answer = bytesAnswer("application/octet-stream", std::move(found->bytes));
      answer.from = "memory";
      return answer;
    }
  return std::nullopt;
}

Request Service::admit(const RequestHead &head) {
  Request request;
  request.route = routeOf(head.path);
  if (request.route.isExplorer() && !explorer)
    request.route = {}; // and so a stranger is not told
  request.method = methodOf(head.method);
  std::optional<Caller> caller = callerOf(head);
  if (!caller && !(request.route.isOpen() && allows(request.route.place, request.method))) {
    request.answer = unauthorized();
    return request;
  }
  request.caller = caller.value_or(Caller{"", NoScope});
  request.wantsEntry = head.accept && head.accept->find(entryType) != std::string::npos;
  request.answer = quickAnswer(request, head.path);
  if (request.method == Method::Put)
    request.maxBodyBytes = options.maxEntryBytes;
  else if (request.method == Method::Post)
    request.maxBodyBytes = maxCompileBytes;
  if (!request.answer && head.bodyBytes.value_or(0) > request.maxBodyBytes)
    request.answer = tooLarge(request.maxBodyBytes);
  if (request.answer && drains)
    request.answer->closes = true;
  return request;
}

void Service::perform(const Request &request, std::string body, Answered answered) {
  auto last = [this, answered = std::move(answered)](Answer answer) {
    answer.closes |= drains;
    answered(std::move(answer));
  };
  if (request.route.place == Place::Compile) {
    compile(request, std::move(body), std::move(last));
    return;
  }
  if (request.route.place == Place::Command) {
    if (body.size() > request.maxBodyBytes)
      last(tooLarge(request.maxBodyBytes));
    else
      explorer->run(request.route.key, body, std::move(last));
    return;
  }
  work.add([this, request, body = std::move(body), last = std::move(last)] {
    last(guarded([&] { return slowAnswer(request, body); }));
  });
}

Answer Service::guarded(const std::function<Answer()> &answer) {
  try {
    return answer();
  } catch (const std::exception &wrong) { // no memory, say
    log.write("error", "failed", {{"what", wrong.what()}});
    return refuse(500, {"internal", "the request could not be served", "see the log of attncd"});
  }
}

Answer Service::slowAnswer(const Request &request, const std::string &body) {
  if (request.route.place == Place::Status)
    return status();
  if (request.route.place == Place::Metrics)
    return metricsText();
  return request.method == Method::Put ? putEntry(request, body) : getEntry(request);
}

Answer Service::getEntry(const Request &request) {
  if (SealedEntries::Bytes sealed = entries.load(request.route.tier(), request.route.key)) {
    Answer answer = bytesAnswer("application/octet-stream", std::move(sealed));
    answer.from = "disk";
    return answer;
  }
  return refuse(404, {"not_found", "there is no such entry", ""});
}

Answer Service::putEntry(const Request &request, const std::string &body) {
  if (body.size() > request.maxBodyBytes) // in chunks, of which nobody knew how many come
    return tooLarge(request.maxBodyBytes);
  SealedEntries::Taken taken = entries.take(request.route.tier(), request.route.key, body);
  auto refused = [&](unsigned status, const char *kind) {
    return refuse(status, {kind, taken.message, taken.remedy});
  };
  switch (taken.event) {
  case EntryEvent::Stored:
    return emptyAnswer(201);
  case EntryEvent::NotSealed:
  case EntryEvent::AnotherEntry:
    return refused(403, "forbidden");
  case EntryEvent::Damaged:
    return refused(400, "invalid_argument");
  case EntryEvent::NotWritten:
    return refused(507, "environment");
  default:
    return emptyAnswer(204);
  }
}

Answer Service::status() {
  CompilePoolStats pool = compiler.stats();
  cache::StoreStats stored = entries.stored();
  Json json = {{"version", ATTNC_VERSION},
               {"build", buildId()},
               {"nvrtc", pool.nvrtc.empty() ? Json() : Json(pool.nvrtc)},
               {"draining", drains.load()},
               {"workers", {{"wanted", pool.workers}, {"alive", pool.alive}}},
               {"queue", {{"waiting", pool.waiting}, {"running", pool.running}}}};
  for (cache::Tier tier : cache::tiers) {
    const cache::StoreUsage &usage = stored.usage[static_cast<std::size_t>(tier)];
    json["entries"][std::string(nameOf(tier))] = {{"entries", usage.entries},
                                                  {"bytes", usage.bytes}};
  }
  return jsonAnswer(json.dump() + "\n");
}

Answer Service::metricsText() {
  Moment moment;
  if (observer)
    observer(moment);
  cache::MemoryStats memory = entries.memory();
  moment.memoryEntries = memory.values;
  moment.memoryBytes = memory.size;
  moment.logLinesDropped = log.dropped();
  moment.drains = drains;
  moment.compiler = compiler.stats();
  return bytesAnswer("text/plain; version=0.0.4; charset=utf-8",
                     std::make_shared<const std::string>(metrics.text(moment)));
}

void Service::compile(const Request &request, std::string body, Answered answered) {
  if (body.size() > request.maxBodyBytes) {
    answered(tooLarge(request.maxBodyBytes));
    return;
  }
  auto done = [this, wantsEntry = request.wantsEntry,
               answered](std::shared_ptr<const CompileAnswer> result) {
    // Sealing and unpacking are not for the pool's thread, which others wait for.
    work.add([this, result = std::move(result), wantsEntry, answered] {
      answered(guarded([&] { return compiled(*result, wantsEntry); }));
    });
  };
  switch (compiler.submit(std::move(body), std::move(done))) {
  case Submitted::Accepted:
  case Submitted::Joined:
    return;
  case Submitted::Full:
    answered(refuseForNow(429, {"busy", "as many compilations wait as may", "ask again later"},
                          retrySeconds));
    return;
  case Submitted::Draining:
    answered(
        refuseForNow(503, {"draining", "attncd is about to end", "ask another one"}, retrySeconds));
    return;
  }
}

Answer Service::compiled(const CompileAnswer &result, bool wantsEntry) {
  if (result.failure) {
    const CompileFailure &why = *result.failure;
    return refuse(statusOf(why.kind), {why.kind, why.message, why.remedy, why.limit});
  }
  Answer answer;
  if (wantsEntry) {
    answer = bytesAnswer(entryType, result.bodies->sealed.get([&] {
      return entries.keep(cache::Tier::Program, result.key, result.entry);
    }));
  } else {
    Error wrong;
    MadeOnce::Bytes program = result.bodies->program.get([&]() -> MadeOnce::Bytes {
      Result<std::string> decoded =
          cache::decodeEntry(cache::Tier::Program, result.key, result.entry);
      if (decoded)
        return std::make_shared<const std::string>(*std::move(decoded));
      wrong = decoded.error();
      return nullptr;
    });
    if (!program)
      return refuse(500, {"internal", wrong.message});
    answer = bytesAnswer(programType, std::move(program));
  }
  answer.headers.insert(answer.headers.end(), {{"Attnc-Tier", "program"},
                                               {"Attnc-Key", result.key},
                                               {"Attnc-Build", std::string(buildId())},
                                               {"Attnc-From", result.from}});
  answer.from = result.from;
  return answer;
}

} // namespace attnc::service
