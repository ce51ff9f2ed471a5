// Requests over HTTP, with libmicrohttpd.
#ifndef ATTNC_TOOLS_ATTNCD_HTTP_HTTP_SERVER_H
#define ATTNC_TOOLS_ATTNCD_HTTP_HTTP_SERVER_H

#include "attnc/result.h"
#include "tools/attncd/http/connections.h"
#include "tools/attncd/service/service.h"

#include <chrono>
#include <map>
#include <memory>
#include <microhttpd.h>
#include <mutex>
#include <string>

namespace attnc::service {

class Exchange;

struct HttpOptions {
  bool isUnix = false; ///< the connections are of a Unix socket
  int threads = 2;     ///< that serve connections; none of them waits for anything
  std::size_t maxConnections = 1024;
  /// A client that takes longer to send a request, to take its answer, or to ask again, is cut off.
  std::chrono::seconds patience{60};
  std::size_t maxUploadBytes = std::size_t(256) << 20; ///< that all bodies together may take
  std::string certificate, key;                        ///< PEM texts; without them there is no TLS
};

/// Serves the connections that it is handed. Thread-safe.
class HttpServer {
public:
  /// `service` and `log` live for as long as this does. Error (InvalidArgument): the certificate or
  /// its key cannot be used; (Environment): there is no TLS, or no thread.
  static Result<std::unique_ptr<HttpServer>> start(HttpOptions options, Service &service,
                                                   Metrics &metrics, Log &log);
  /// Closes all connections. No request waits for the service any more.
  ~HttpServer();

  /// Whether one more connection is served, if only to be told that there are too many.
  bool hasRoom() const;
  /// Serves a connection, and closes it.
  void add(int socket);

  /// Ends connections of clients that are too slow. To be called about every second.
  void cutSlow() { connections.cutSlow(options.patience); }
  /// Nobody waits for anything, as far as can be seen: no request is being answered, and nothing
  /// has come for `quiet`.
  bool isIdle(std::chrono::nanoseconds quiet) const;
  /// Answers all requests that wait for the service.
  void answerAll(const Answer &answer);

  void observe(Moment &moment) const;

private:
  friend class Exchange;
  HttpServer(HttpOptions options, Service &service, Metrics &metrics, Log &log);

  bool isOverloaded() const { return connections.count() > options.maxConnections; }
  /// Takes memory for bodies, if there is some left.
  bool takeMemory(std::size_t bytes);
  void noteActivity();

  static void onMessage(void *self, const char *format, va_list arguments);
  static void *onRequestLine(void *self, const char *uri, MHD_Connection *connection);
  static MHD_Result onRequest(void *self, MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data,
                              std::size_t *size, void **exchange);
  static void onCompleted(void *self, MHD_Connection *connection, void **exchange,
                          MHD_RequestTerminationCode how);
  static void onConnection(void *self, MHD_Connection *connection, void **context,
                           MHD_ConnectionNotificationCode what);

  const HttpOptions options;
  Service &service;
  Metrics &metrics;
  Log &log;
  MHD_Daemon *daemon = nullptr;
  std::string startMessage; ///< why it does not start
  std::atomic<bool> isStarted = false;
  Connections connections;
  std::atomic<std::uint64_t> ids = 0;
  std::atomic<std::size_t> requests = 0, uploads = 0, uploadBytes = 0;
  std::atomic<std::int64_t> lastActivity = 0; ///< nanoseconds of the steady clock
  mutable std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<Exchange>> waiting; ///< for the service, by id
};

} // namespace attnc::service

#endif
