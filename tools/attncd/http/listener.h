// Where the service listens.
#ifndef ATTNC_TOOLS_ATTNCD_HTTP_LISTENER_H
#define ATTNC_TOOLS_ATTNCD_HTTP_LISTENER_H

#include "attnc/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace attnc::service {

/// "tcp:HOST:PORT", with an address or a name, an IPv6 address in brackets, or "unix:PATH".
struct ListenAddress {
  bool isUnix = false;
  std::string host, port; ///< of TCP
  std::string path;

  /// Error (InvalidArgument): it is neither.
  static Result<ListenAddress> parse(std::string_view text);
};

/// A socket that listens, and does not block. The file of a Unix socket goes with the object.
class Listener {
public:
  /// A Unix socket may be connected to by its owner and group; a file that a dead server has left
  /// is replaced. Error (Environment): the address is in use, or may not be used.
  static Result<Listener> open(const ListenAddress &address);
  Listener(Listener &&other) noexcept;
  ~Listener();

  int descriptor() const { return socket; }
  /// As --listen takes it, with the port that the system has chosen for port 0.
  const std::string &text() const { return name; }
  /// No connection is taken any more.
  void close();

private:
  Listener(int socket, std::string name, std::string path)
      : socket(socket), name(std::move(name)), path(std::move(path)) {}
  static Result<Listener> openUnix(const ListenAddress &address);
  static Result<Listener> openTcp(const ListenAddress &address);

  int socket;
  std::string name, path;
  std::uint64_t inode = 0; ///< of the path
};

} // namespace attnc::service

#endif
