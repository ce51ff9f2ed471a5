// The process that compiles: `attncd worker`.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_WORKER_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_WORKER_H

namespace attnc::service {

/// Answers jobs that come over the socket on descriptor 3, one at a time, until it is closed. The
/// exit code of the process.
int runWorker();

} // namespace attnc::service

#endif
