#include "tools/attncd/http/exchange.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <strings.h>

namespace attnc::service {

namespace {

Answer noMemory() {
  return refuseForNow(503,
                      {"busy", "as much is being sent as memory allows", "send it again later"}, 1);
}

Answer tooManyConnections() {
  return refuseForNow(503, {"busy", "as many connections are open as may", "ask again later"}, 1);
}

void release(void *bytes) { delete static_cast<std::shared_ptr<const std::string> *>(bytes); }

using Response = std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)>;

/// Sends the bytes where they are: many answers share them.
Response responseOf(const Answer &answer, bool closes) {
  auto held = std::make_unique<std::shared_ptr<const std::string>>(answer.body);
  Response response(
      MHD_create_response_from_buffer_with_free_callback_cls(
          answer.body->size(), const_cast<char *>(answer.body->data()), release, held.get()),
      MHD_destroy_response);
  if (!response)
    return response;
  (void)held.release(); // the response has it
  for (const auto &[name, value] : answer.headers)
    MHD_add_response_header(response.get(), name.c_str(), value.c_str());
  if (closes)
    MHD_add_response_header(response.get(), "Connection", "close");
  return response;
}

/// What the headers say of where the request ends.
struct HeaderCounts {
  int lengths = 0; ///< Content-Length and Transfer-Encoding
  int spaced = 0;  ///< names with white space
};

MHD_Result countHeader(void *counts, MHD_ValueKind, const char *name, const char *) {
  auto &found = *static_cast<HeaderCounts *>(counts);
  found.lengths +=
      ::strcasecmp(name, "Content-Length") == 0 || ::strcasecmp(name, "Transfer-Encoding") == 0;
  found.spaced += std::string_view(name).find_first_of(" \t\v\f\r\n") != std::string_view::npos;
  return MHD_YES;
}

} // namespace

Exchange::Exchange(HttpServer &server, MHD_Connection *http, Connection *connection)
    : server(server), http(http), connection(connection), id(++server.ids) {
  ++server.requests;
  connection->turn();
}

Exchange::~Exchange() {
  server.uploadBytes -= memory;
  --server.requests;
}

std::optional<std::string> Exchange::header(const char *name) const {
  const char *value = MHD_lookup_connection_value(http, MHD_HEADER_KIND, name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

RequestHead Exchange::headOf(const char *path, const char *method) const {
  RequestHead head;
  head.method = method;
  head.path = path;
  head.authorization = header("Authorization");
  head.accept = header("Accept");
  std::uint64_t bytes = 0;
  if (std::optional<std::string> length = header("Content-Length");
      length &&
      std::from_chars(length->data(), length->data() + length->size(), bytes).ec == std::errc())
    head.bodyBytes = bytes;
  head.hasBody = bytes > 0 || header("Transfer-Encoding");
  return head;
}

std::optional<Answer> Exchange::malformed() const {
  HeaderCounts counts;
  MHD_get_connection_values(http, MHD_HEADER_KIND, countHeader, &counts);
  std::optional<Answer> wrong;
  if (counts.spaced)
    wrong = refuse(400, {"invalid_argument", "a header's name has white space",
                         "the colon follows the name at once"});
  // Whoever stands between the client and us may believe the other one.
  else if (counts.lengths > 1)
    wrong = refuse(400, {"invalid_argument", "the body has two lengths",
                         "send Content-Length or Transfer-Encoding, once"});
  else if (std::optional<std::string> coding = header("Transfer-Encoding");
           coding && *coding != "chunked")
    wrong = refuse(501, {"invalid_argument", "there is no such Transfer-Encoding", "send chunked"});
  if (wrong)
    wrong->closes = true; // where the next request begins is not known
  return wrong;
}

MHD_Result Exchange::begin(const char *givenPath, const char *method) {
  phase = Phase::Body;
  path = std::string_view(givenPath).substr(0, 200);
  methodName = std::string_view(method).substr(0, 20);
  RequestHead head = headOf(givenPath, method);
  request = server.service.admit(head);
  isUpload = head.hasBody;
  answer = std::move(request.answer);
  bool isKnown = !answer || answer->status != 401;
  if (isKnown && server.isOverloaded() && !request.route.isOpen()) {
    answer = tooManyConnections();
    answer->closes = true;
  }
  if (std::optional<Answer> wrong = isKnown ? malformed() : std::nullopt)
    answer = std::move(wrong);
  if (!isUpload)
    return MHD_YES; // the next call answers: in this one it would be the connection's last
  ++server.uploads;
  if (!answer && head.bodyBytes) {
    if (server.takeMemory(*head.bodyBytes)) {
      memory = *head.bodyBytes;
      body.reserve(memory);
    } else {
      answer = noMemory();
    }
  }
  return answer ? send() : MHD_YES; // a body that is not wanted is not read
}

void Exchange::takePart(std::string_view part) {
  received += part.size();
  if (answer)
    return;
  std::size_t wanted = body.size() + part.size();
  // Nothing can be answered in the middle of a body: the rest is counted and thrown away.
  if (wanted > request.maxBodyBytes) {
    answer = tooLarge(request.maxBodyBytes);
  } else if (wanted > memory) {
    std::size_t more = std::max(wanted, std::min<std::size_t>(2 * memory, request.maxBodyBytes));
    if (server.takeMemory(more - memory)) {
      memory = more;
      body.reserve(memory);
    } else {
      answer = noMemory();
    }
  }
  if (!answer) {
    body.append(part);
    return;
  }
  std::string().swap(body);
  server.uploadBytes -= std::exchange(memory, 0);
}

MHD_Result Exchange::onCall(const char *givenPath, const char *method, const char *data,
                            std::size_t *size) {
  if (phase == Phase::Head)
    return begin(givenPath, method);
  if (phase == Phase::Body && *size > 0) {
    takePart({data, *size});
    *size = 0;
    // As much again as may be sent, and there is no end: it will not become an answer.
    return received > 2 * request.maxBodyBytes + 65536 ? MHD_NO : MHD_YES;
  }
  if (phase == Phase::Body && !answer)
    return perform();
  return send();
}

MHD_Result Exchange::perform() {
  phase = Phase::Waiting;
  connection->waits = true;
  isSuspended = true;
  MHD_suspend_connection(http);
  std::shared_ptr<Exchange> self = shared_from_this();
  {
    std::lock_guard guard(server.mutex);
    server.waiting[id] = self; // from here on others may answer
  }
  server.service.perform(request, std::move(body),
                         [self](Answer answer) { self->finish(std::move(answer)); });
  return MHD_YES;
}

void Exchange::finish(Answer given) {
  {
    std::lock_guard guard(server.mutex);
    server.waiting.erase(id);
  }
  std::lock_guard guard(mutex);
  if (answer)
    return;
  answer = std::move(given);
  connection->turn();
  connection->waits = false;
  if (std::exchange(isSuspended, false))
    MHD_resume_connection(http);
}

MHD_Result Exchange::send() {
  std::lock_guard guard(mutex);
  if (!answer)
    return MHD_YES;
  connection->turn();
  Response response = responseOf(*answer, answer->closes || server.service.isDraining());
  if (!response)
    return MHD_NO;
  status = answer->status;
  bytes = request.method == Method::Head ? 0 : answer->body->size();
  from = answer->from;
  return MHD_queue_response(http, status, response.get());
}

void Exchange::onCompleted(MHD_RequestTerminationCode how) {
  connection->turn();
  if (isUpload)
    --server.uploads;
  isUpload = false;
  server.noteActivity();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Log::Fields fields = {{"id", id},
                        {"token", request.caller.name},
                        {"method", methodName},
                        {"path", path},
                        {"status", status},
                        {"bytes", bytes},
                        {"seconds", seconds}};
  if (!from.empty())
    fields["from"] = from;
  // What is no HTTP the library refuses by itself, with 400, 413, 414 or 431.
  if (status == 0)
    fields["status"] = nullptr;
  else
    server.metrics.answered(request.route.place, request.method, status, seconds);
  if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK)
    fields["cut"] = connection->wasCut ? "slow" : "gone";
  server.log.write("info", "request", fields);
}

} // namespace attnc::service
