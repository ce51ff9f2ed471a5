// The service from its start to its end.
#ifndef ATTNC_TOOLS_ATTNCD_DAEMON_H
#define ATTNC_TOOLS_ATTNCD_DAEMON_H

#include "tools/attncd/options.h"

namespace attnc::service {

/// Serves until SIGTERM or SIGINT, then answers what it has accepted. SIGHUP reads the tokens anew.
/// Blocks these signals in the process. Errors, before it listens: a file that cannot be used
/// (InvalidArgument, Environment), an address that is in use, no worker (Environment).
Status runDaemon(const DaemonOptions &options);

} // namespace attnc::service

#endif
