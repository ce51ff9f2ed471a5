#include "tools/attncd/http/connections.h"

#include <memory>
#include <sys/socket.h>

namespace attnc::service {

Connection *Connections::open(int socket) {
  auto connection = std::make_unique<Connection>(socket);
  std::lock_guard guard(mutex);
  opened.insert(connection.get());
  return connection.release();
}

void Connections::close(Connection *connection) {
  std::unique_ptr<Connection> closing(connection);
  std::lock_guard guard(mutex);
  opened.erase(connection);
  --all;
}

void Connections::cutSlow(std::chrono::nanoseconds patience) {
  std::lock_guard guard(mutex);
  for (Connection *connection : opened)
    if (!connection->waits && connection->age() > patience && !connection->wasCut.exchange(true)) {
      ::shutdown(connection->socket, SHUT_RDWR); // its thread sees the end, and closes it
      ++ended;
    }
}

} // namespace attnc::service
