// The explorer for who sits at this machine: HTTP on a loopback address, with libevent.
#ifndef ATTNC_TOOLS_EXPLORER_LOCAL_SERVER_H
#define ATTNC_TOOLS_EXPLORER_LOCAL_SERVER_H

#include "tools/explorer/run_command.h"

#include <functional>

namespace attnc::explorer {

struct LocalServerOptions {
  std::string host = "127.0.0.1"; ///< a loopback address: 127.0.0.1 or ::1
  int port = 8471;                ///< 0: one that is free
  int commands = 8; ///< that run beside each other, of which a page wants six at most; else 429
  CommandLimits limits = {};
};

/// Serves until SIGINT or SIGTERM; `ready` is told the page's address. Only requests that name this
/// server as their host are answered, and of another site's page none, so that no page of the web
/// can use it. Error (InvalidArgument): the host is no loopback address; (Environment): the address
/// is in use.
Status serveLocally(const LocalServerOptions &options,
                    const std::function<void(const std::string &url)> &ready);

} // namespace attnc::explorer

#endif
