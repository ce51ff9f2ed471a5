#include "tools/attncd/http/listener.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace attnc::service {

namespace {

constexpr int backlog = 1024;
constexpr const char *forms = "--listen takes tcp:HOST:PORT, as tcp:127.0.0.1:8470, or unix:PATH, "
                              "as unix:/run/attnc/attncd.sock";

class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  int get() const { return number; }
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

Error cannotListen(const std::string &where, const std::string &remedy) {
  return environmentError(fmt::format("{} cannot be listened at: {}", where, std::strerror(errno)),
                          remedy);
}

sockaddr_un addressOf(const std::string &path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// Whether somebody accepts connections there.
bool isAlive(const sockaddr_un &address) {
  Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) ==
             0 ||
         errno == EAGAIN; // its queue is full
}

/// The port that a socket has got.
unsigned portOf(int socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr *>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in &>(bound).sin_port);
}

} // namespace

Result<ListenAddress> ListenAddress::parse(std::string_view text) {
  Error wrong = invalidArgument(fmt::format("'{}' is no address", text), forms);
  ListenAddress address;
  if (text.starts_with("unix:")) {
    address.isUnix = true;
    address.path = text.substr(5);
    if (address.path.empty())
      return wrong;
    if (address.path.size() >= sizeof(sockaddr_un::sun_path))
      return invalidArgument(
          fmt::format("the path {} is too long for a socket", address.path),
          fmt::format("it may have {} bytes", sizeof(sockaddr_un::sun_path) - 1));
    return address;
  }
  std::size_t colon = text.rfind(':');
  if (!text.starts_with("tcp:") || colon < 5)
    return wrong;
  std::string_view host = text.substr(4, colon - 4);
  address.port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  address.host = host;
  bool isNumber = !address.port.empty() && address.port.size() <= 5 &&
                  address.port.find_first_not_of("0123456789") == std::string::npos &&
                  std::stoi(address.port) <= 65535;
  if (!isNumber || address.host.empty())
    return wrong;
  return address;
}

Result<Listener> Listener::open(const ListenAddress &address) {
  return address.isUnix ? openUnix(address) : openTcp(address);
}

Result<Listener> Listener::openUnix(const ListenAddress &address) {
  std::string name = "unix:" + address.path;
  sockaddr_un where = addressOf(address.path);
  // Two that start at once look and replace one after the other.
  std::string folder = std::filesystem::path(address.path).parent_path();
  Descriptor lock(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX) != 0)
    return cannotListen(name, "check the folder and its permissions");
  struct stat status = {};
  if (::lstat(address.path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode))
      return environmentError(address.path + " is there already, and is no socket",
                              "name another path, or move it away");
    if (isAlive(where))
      return environmentError("a server listens at " + name, "end it first, or name another path");
    if (::unlink(address.path.c_str()) != 0)
      return cannotListen(name, "remove the file that a dead server has left");
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // The file has its mode before anybody can connect.
  mode_t mask = ::umask(0117);
  bool isBound = ::bind(socket.get(), reinterpret_cast<sockaddr *>(&where), sizeof where) == 0;
  int error = errno;
  ::umask(mask);
  errno = error;
  if (!isBound || ::listen(socket.get(), backlog) != 0)
    return cannotListen(name, "check the folder and its permissions");
  Listener listener(socket.release(), name, address.path);
  if (::lstat(address.path.c_str(), &status) == 0)
    listener.inode = status.st_ino;
  return listener;
}

Result<Listener> Listener::openTcp(const ListenAddress &address) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (int code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found))
    return environmentError(
        fmt::format("there is no address {}: {}", address.host, ::gai_strerror(code)), forms);
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  bool isIpv6 = address.host.find(':') != std::string::npos;
  std::string name = fmt::format("tcp:{}:", isIpv6 ? "[" + address.host + "]" : address.host);
  Descriptor socket(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, found->ai_protocol));
  int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), backlog) != 0)
    return cannotListen(name + address.port,
                        "another process may listen there: name another port, or 0 for any");
  name += std::to_string(portOf(socket.get()));
  return Listener(socket.release(), name, "");
}

Listener::Listener(Listener &&other) noexcept
    : socket(std::exchange(other.socket, -1)), name(std::move(other.name)),
      path(std::exchange(other.path, "")), inode(other.inode) {}

void Listener::close() {
  struct stat status = {};
  // Another server may have taken the path meanwhile.
  if (!path.empty() && ::lstat(path.c_str(), &status) == 0 && status.st_ino == inode)
    ::unlink(path.c_str());
  path.clear();
  if (socket >= 0)
    ::close(std::exchange(socket, -1));
}

Listener::~Listener() { close(); }

} // namespace attnc::service
