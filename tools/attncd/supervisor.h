// What is said to the system's service manager (sd_notify(3)).
#ifndef ATTNC_TOOLS_ATTNCD_SUPERVISOR_H
#define ATTNC_TOOLS_ATTNCD_SUPERVISOR_H

#include <string_view>

namespace attnc::service {

/// Sends "READY=1", "STOPPING=1" and the like to the socket that NOTIFY_SOCKET names. Nothing,
/// where there is no such variable or nobody listens.
void tellSupervisor(std::string_view state);

} // namespace attnc::service

#endif
