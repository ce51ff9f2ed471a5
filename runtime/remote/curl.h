#pragma once

/// HTTP through libcurl, which is loaded when it is first needed.

#include "attnc/result.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::remote {

struct HttpRequest {
  std::string method = "GET"; ///< GET, HEAD, PUT or POST
  std::string url;
  std::string_view body; ///< of PUT and POST
  std::vector<std::string> headers;
  std::chrono::milliseconds connect, transfer;
  std::uint64_t maxBytes = 0; ///< of the answer's body
};

struct HttpAnswer {
  long status = 0;
  std::string body;
  std::chrono::seconds retryAfter{0}; ///< 0: the server has not said
};

/// One server, with connections that are kept. Redirections are not followed. Thread-safe; after a
/// fork the child makes its own connections.
class HttpClient {
public:
  /// `socket`: the path of a Unix socket, or empty. `authorities`: a PEM file in place of the
  /// system's, or empty.
  HttpClient(std::string socket, std::string authorities)
      : socket(std::move(socket)), authorities(std::move(authorities)) {}
  ~HttpClient();
  HttpClient(const HttpClient &) = delete;
  HttpClient &operator=(const HttpClient &) = delete;

  /// Whatever the status is. Errors (Environment): there is no libcurl; no answer, or not in time;
  /// a longer one than maxBytes.
  Result<HttpAnswer> send(const HttpRequest &request);

private:
  void *takeHandle();
  void giveHandle(void *handle);

  const std::string socket, authorities;
  std::mutex mutex;
  std::vector<void *> idle; ///< CURL *
  pid_t owner = 0;          ///< the process that has made them
};

} // namespace attnc::remote
