#include "runtime/remote/redis_endpoint.h"

#include "runtime/program/byte_count.h"
#include "runtime/remote/broken_pipe.h"
#include "runtime/remote/foreign_text.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

namespace attnc::remote {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t maxReplyBytes = 1 << 20; // of what is no entry

timeval timevalOf(Clock::duration duration) {
  auto microseconds = std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
  return {microseconds / 1000000, microseconds % 1000000};
}

std::string nameOfEntry(cache::Tier tier, const std::string &key) {
  return fmt::format("attnc:v1:{}:{}", nameOf(tier), key);
}

/// Nothing that we ask for is answered with an array, whose size a server could choose.
void *refuseArray(const redisReadTask *, int) { return nullptr; }

redisReplyObjectFunctions *withoutArrays(const redisReplyObjectFunctions *usual) {
  static redisReplyObjectFunctions functions = [&] {
    redisReplyObjectFunctions changed = *usual;
    changed.createArray = refuseArray;
    return changed;
  }();
  return &functions;
}

} // namespace

class RedisEndpoint::Call {
public:
  Call(redisContext *context, Clock::time_point deadline) : context(context), deadline(deadline) {}
  ~Call() {
    if (context)
      redisFree(context);
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  redisContext *release() { return std::exchange(context, nullptr); }
  /// Nobody has closed the connection, nor sent what was not asked for.
  bool isOpen() const {
    pollfd input = {context->fd, POLLIN | POLLRDHUP, 0};
    return context->reader->pos == context->reader->len && ::poll(&input, 1, 0) == 0;
  }
  /// Error (Environment): no reply in time, or one that is none.
  Result<Reply> ask(const std::vector<std::string_view> &words, std::uint64_t maxBytes);

private:
  Error lost(std::string_view doing) const;
  Status wait() const;

  redisContext *context;
  const Clock::time_point deadline;
};

Error RedisEndpoint::Call::lost(std::string_view doing) const {
  return environmentError(Clock::now() >= deadline ? "it takes too long"
                                                   : fmt::format("{}: {}", doing, context->errstr));
}

/// Lets the next call to the socket wait no longer than there is time.
Status RedisEndpoint::Call::wait() const {
  Clock::duration left = deadline - Clock::now();
  if (left <= Clock::duration::zero() || redisSetTimeout(context, timevalOf(left)) != REDIS_OK)
    return environmentError("it takes too long");
  return {};
}

Result<RedisEndpoint::Reply> RedisEndpoint::Call::ask(const std::vector<std::string_view> &words,
                                                      std::uint64_t maxBytes) {
  std::vector<const char *> texts;
  std::vector<std::size_t> sizes;
  for (std::string_view word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  if (redisAppendCommandArgv(context, static_cast<int>(words.size()), texts.data(), sizes.data()) !=
      REDIS_OK)
    return lost("asking");
  for (int isSent = 0; !isSent;) {
    if (Status status = wait(); !status)
      return status.error();
    if (redisBufferWrite(context, &isSent) != REDIS_OK)
      return lost("asking");
  }
  void *received = nullptr;
  while (true) {
    if (redisGetReplyFromReader(context, &received) != REDIS_OK)
      return lost("its answer");
    if (received)
      break;
    if (context->reader->len > maxBytes + 64)
      return environmentError(fmt::format("the answer has more than {} bytes", maxBytes));
    if (Status status = wait(); !status)
      return status.error();
    if (redisBufferRead(context) != REDIS_OK)
      return lost("its answer");
  }
  std::unique_ptr<redisReply, decltype(&freeReplyObject)> reply(static_cast<redisReply *>(received),
                                                                freeReplyObject);
  switch (reply->type) {
  case REDIS_REPLY_STRING:
    return Reply{Reply::Kind::Text, std::string(reply->str, reply->len)};
  case REDIS_REPLY_STATUS:
    return Reply{Reply::Kind::Status, std::string(reply->str, reply->len)};
  case REDIS_REPLY_ERROR:
    return Reply{Reply::Kind::Error,
                 std::string(reply->str, std::min<std::size_t>(reply->len, 200))};
  case REDIS_REPLY_INTEGER:
    return Reply{Reply::Kind::Number, "", reply->integer};
  default:
    return Reply{};
  }
}

RedisEndpoint::~RedisEndpoint() {
  if (owner == ::getpid())
    for (redisContext *context : idle)
      redisFree(context);
}

std::unique_ptr<RedisEndpoint::Call> RedisEndpoint::reuse() {
  std::lock_guard guard(mutex);
  if (owner != ::getpid()) {
    idle.clear(); // a parent's connections are the parent's
    owner = ::getpid();
  }
  if (idle.empty())
    return nullptr;
  redisContext *context = idle.back();
  idle.pop_back();
  return std::make_unique<Call>(context, Clock::now() + patience.transfer);
}

Result<std::unique_ptr<RedisEndpoint::Call>> RedisEndpoint::connect() {
  timeval limit = timevalOf(patience.connect);
  redisContext *context = address.socket.empty()
                              ? redisConnectWithTimeout(address.host.c_str(), address.port, limit)
                              : redisConnectUnixWithTimeout(address.socket.c_str(), limit);
  if (!context)
    return environmentError("hiredis has no memory");
  auto call = std::make_unique<Call>(context, Clock::now() + patience.transfer);
  if (context->err)
    return environmentError(context->errstr);
  context->reader->fn = withoutArrays(context->reader->fn);
  std::vector<std::vector<std::string>> greetings;
  if (!address.password.empty()) {
    greetings.push_back({"AUTH"});
    if (!address.user.empty())
      greetings.back().push_back(address.user);
    greetings.back().push_back(address.password);
  }
  if (address.database)
    greetings.push_back({"SELECT", std::to_string(address.database)});
  for (const std::vector<std::string> &words : greetings) {
    Result<Reply> reply = call->ask({words.begin(), words.end()}, maxReplyBytes);
    if (!reply)
      return reply.error();
    if (reply->kind == Reply::Kind::Error)
      return environmentError(fmt::format("{}: {}", words.front(), foreignText(reply->text)),
                              "check the password and the database in ATTNC_REMOTE");
  }
  return call;
}

void RedisEndpoint::end(std::unique_ptr<Call> call) {
  constexpr std::size_t most = 8; // connections that wait
  std::lock_guard guard(mutex);
  if (owner == ::getpid() && idle.size() < most)
    idle.push_back(call->release());
}

Result<RedisEndpoint::Reply> RedisEndpoint::answered(std::unique_ptr<Call> call,
                                                     const std::vector<std::string_view> &words,
                                                     std::uint64_t maxBytes) {
  Result<Reply> reply = call->ask(words, maxBytes);
  if (reply)
    end(std::move(call));
  if (reply && reply->kind == Reply::Kind::Error)
    return environmentError(fmt::format("{}: {}", words.front(), foreignText(reply->text)));
  return reply;
}

Result<RedisEndpoint::Reply> RedisEndpoint::ask(const std::vector<std::string_view> &words,
                                                std::uint64_t maxBytes) {
  BrokenPipeIgnored ignored;
  // The server may have closed a connection that was idle for long, or have been started anew.
  while (std::unique_ptr<Call> call = reuse())
    if (call->isOpen())
      return answered(std::move(call), words, maxBytes);
  Result<std::unique_ptr<Call>> call = connect();
  return call ? answered(*std::move(call), words, maxBytes) : call.error();
}

Result<std::optional<std::string>> RedisEndpoint::get(cache::Tier tier, const std::string &key,
                                                      std::uint64_t maxBytes) {
  Result<Reply> reply = ask({"GET", nameOfEntry(tier, key)}, maxBytes);
  if (!reply)
    return reply.error();
  if (reply->kind == Reply::Kind::Nothing)
    return std::optional<std::string>();
  if (reply->kind != Reply::Kind::Text)
    return environmentError("GET: the answer is no string");
  return std::optional(std::move(reply->text));
}

Status RedisEndpoint::put(cache::Tier tier, const std::string &key, std::string_view sealed) {
  Result<Reply> reply = ask({"SET", nameOfEntry(tier, key), sealed}, maxReplyBytes);
  if (reply)
    return {};
  // An account that may only read, and a replica.
  bool takesNothing = reply.error().message.starts_with("SET: NOPERM") ||
                      reply.error().message.starts_with("SET: READONLY");
  Error error = reply.error();
  error.kind = takesNothing ? ErrorKind::InvalidArgument : ErrorKind::Environment;
  return error;
}

Result<ServerState> RedisEndpoint::describe() {
  Result<Reply> keys = ask({"DBSIZE"}, maxReplyBytes);
  if (!keys)
    return keys.error();
  if (keys->kind != Reply::Kind::Number)
    return environmentError("DBSIZE: the answer is no number");
  std::string text = fmt::format("Redis, {} keys", keys->number);
  Result<Reply> memory = ask({"INFO", "memory"}, maxReplyBytes);
  const std::string label = "used_memory:";
  std::size_t at = memory ? memory->text.find(label) : std::string::npos;
  if (at != std::string::npos)
    text += ", " + bytesText(std::strtod(memory->text.c_str() + at + label.size(), nullptr));
  return ServerState{text, ""};
}

} // namespace attnc::remote
