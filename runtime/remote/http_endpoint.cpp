#include "runtime/remote/http_endpoint.h"

#include "runtime/program/byte_count.h"
#include "runtime/remote/foreign_text.h"
#include "runtime/remote/sealed_entry.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attnc::remote {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t maxReplyBytes = 1 << 20; // of what is no entry

std::string pathOf(cache::Tier tier, const std::string &key) {
  return fmt::format("/v1/{}/{}", nameOf(tier), key);
}

/// attncd explains what it refuses; of others there is only the status.
Error errorOf(const HttpAnswer &answer) {
  Json json = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  Json error = json.is_object() ? json.value("error", Json()) : Json();
  auto text = [&](const char *name) {
    return error.is_object() && error.contains(name) && error[name].is_string()
               ? foreignText(error[name].get<std::string>())
               : std::string();
  };
  std::string message = text("message");
  if (message.empty())
    message = fmt::format("it answers with the status {}", answer.status);
  if (answer.status == 401)
    return environmentError(message, "ATTNC_REMOTE_TOKEN_FILE names the file with the token");
  std::string kind = text("kind");
  ErrorKind known = kind == "spec"                                  ? ErrorKind::Spec
                    : kind == "compilation"                         ? ErrorKind::Compilation
                    : kind == "internal"                            ? ErrorKind::Internal
                    : kind == "invalid_argument" || kind == "limit" ? ErrorKind::InvalidArgument
                                                                    : ErrorKind::Environment;
  return {known, message, text("remedy")};
}

} // namespace

HttpEndpoint::HttpEndpoint(const Address &address, const std::string &token,
                           const std::string &authorities, Patience patience)
    : url(address.url), authorization(token.empty() ? "" : "Authorization: Bearer " + token),
      patience(patience), client(address.socket, authorities) {}

HttpRequest HttpEndpoint::requestFor(const std::string &method, const std::string &path) const {
  HttpRequest request;
  request.method = method;
  request.url = url + path;
  request.connect = patience.connect;
  request.transfer = patience.transfer;
  request.maxBytes = maxReplyBytes;
  if (!authorization.empty())
    request.headers.push_back(authorization);
  return request;
}

Result<std::optional<std::string>> HttpEndpoint::get(cache::Tier tier, const std::string &key,
                                                     std::uint64_t maxBytes) {
  HttpRequest request = requestFor("GET", pathOf(tier, key));
  request.maxBytes = maxBytes;
  Result<HttpAnswer> answer = client.send(request);
  if (!answer)
    return answer.error();
  if (answer->status == 404)
    return std::optional<std::string>();
  if (answer->status == 403) // a token that may only write, or compile
    return invalidArgument(errorOf(*answer).message);
  if (answer->status != 200)
    return environmentError(errorOf(*answer).message, errorOf(*answer).remedy);
  return std::optional(std::move(answer->body));
}

Status HttpEndpoint::put(cache::Tier tier, const std::string &key, std::string_view sealed) {
  HttpRequest request = requestFor("PUT", pathOf(tier, key));
  request.headers.emplace_back("Content-Type: application/octet-stream");
  request.body = sealed;
  Result<HttpAnswer> answer = client.send(request);
  if (!answer)
    return answer.error();
  if (answer->status / 100 == 2 || answer->status == 413) // that one entry is too large for it
    return {};
  Error error = errorOf(*answer);
  bool takesNothing = answer->status == 401 || answer->status == 403 || answer->status == 405;
  error.kind = takesNothing ? ErrorKind::InvalidArgument : ErrorKind::Environment;
  return error;
}

Result<CompileAnswer> HttpEndpoint::compile(const std::string &json, const std::string &build,
                                            std::chrono::seconds longest) {
  HttpRequest request = requestFor("POST", "/v1/compile");
  request.headers.emplace_back("Content-Type: application/json");
  request.headers.emplace_back("Accept: application/vnd.attnc.entry");
  request.headers.push_back("Attnc-Build: " + build); // a proxy may choose by it
  request.body = json;
  request.connect = std::chrono::seconds(2); // there is no other way to what is asked for
  request.transfer = longest;
  request.maxBytes = cache::maxEntryBytes + sealBytes;
  Result<HttpAnswer> http = client.send(request);
  if (!http)
    return http.error();
  CompileAnswer answer;
  if (http->status == 200) {
    answer.kind = CompileAnswer::Kind::Compiled;
    answer.bytes = std::move(http->body);
    return answer;
  }
  answer.error = errorOf(*http);
  switch (http->status) {
  case 400:
  case 413:
  case 422:
    answer.kind = CompileAnswer::Kind::Refused;
    return answer;
  case 429:
  case 503:
    answer.kind = CompileAnswer::Kind::Busy;
    answer.again = std::clamp(http->retryAfter, std::chrono::seconds(1), std::chrono::seconds(30));
    return answer;
  case 500: // a worker that the spec has killed would be killed again; or a service without NVRTC
    if (answer.error.kind == ErrorKind::Internal)
      answer.kind = CompileAnswer::Kind::Refused;
    return answer;
  case 401:
  case 403:
  case 404:
  case 405:
  case 409:
  case 501:
    compiles = false;
    return answer;
  default:
    return answer.error;
  }
}

Result<ServerState> HttpEndpoint::describe() {
  Result<HttpAnswer> answer = client.send(requestFor("GET", "/v1/status"));
  if (!answer)
    return answer.error();
  if (answer->status != 200 && answer->status != 404)
    return errorOf(*answer);
  Json status = Json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (answer->status == 404 || !status.is_object())
    return ServerState{"a plain store", ""};
  try {
    ServerState state{
        fmt::format("attncd {}", foreignText(status.at("version").get<std::string>())),
        status.at("build").get<std::string>()};
    for (cache::Tier tier : cache::tiers) {
      const Json &usage = status.at("entries").at(std::string(nameOf(tier)));
      state.text += fmt::format(", {} {}: {}", usage.at("entries").get<std::uint64_t>(),
                                nameOf(tier), bytesText(usage.at("bytes").get<double>()));
    }
    return state;
  } catch (const Json::exception &) {
    return ServerState{"another kind of server", ""};
  }
}

} // namespace attnc::remote
