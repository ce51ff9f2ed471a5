// One request and its answer on a connection.
#ifndef ATTNC_TOOLS_ATTNCD_HTTP_EXCHANGE_H
#define ATTNC_TOOLS_ATTNCD_HTTP_EXCHANGE_H

#include "tools/attncd/http/http_server.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace attnc::service {

/// The methods but `finish` are called by the thread of the connection alone.
class Exchange : public std::enable_shared_from_this<Exchange> {
public:
  Exchange(HttpServer &server, MHD_Connection *http, Connection *connection);
  ~Exchange();

  /// The head is there, then parts of the body, then the request is complete, and again when the
  /// answer is there.
  MHD_Result onCall(const char *path, const char *method, const char *data, std::size_t *size);
  /// The answer has been sent, or cannot be.
  void onCompleted(MHD_RequestTerminationCode how);

  /// The service's answer, from any thread. The first one counts.
  void finish(Answer answer);

private:
  enum class Phase { Head, Body, Waiting };

  RequestHead headOf(const char *path, const char *method) const;
  std::optional<std::string> header(const char *name) const;
  /// What is wrong with how the body is announced, or with the name of a header.
  std::optional<Answer> malformed() const;
  MHD_Result begin(const char *path, const char *method);
  void takePart(std::string_view part);
  MHD_Result perform();
  MHD_Result send();

  HttpServer &server;
  MHD_Connection *const http;
  Connection *const connection;
  const std::uint64_t id;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  Phase phase = Phase::Head;
  std::string path, methodName; ///< for the log
  Request request;
  bool isUpload = false;
  std::string body;
  std::size_t memory = 0; ///< that the server has lent for the body
  std::uint64_t received = 0;
  unsigned status = 0;
  std::size_t bytes = 0;
  std::string from;

  std::mutex mutex; ///< of the two below
  std::optional<Answer> answer;
  bool isSuspended = false;
};

} // namespace attnc::service

#endif
