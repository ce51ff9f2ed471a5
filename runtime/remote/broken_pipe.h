#pragma once

/// Writing to a peer that is gone.

#include <csignal>

namespace attnc::remote {

/// While it lives, this thread gets no SIGPIPE, which would end the process: a library may not
/// change what the process does with signals, and neither OpenSSL nor hiredis asks send(2) for an
/// error instead.
class BrokenPipeIgnored {
public:
  BrokenPipeIgnored();
  ~BrokenPipeIgnored();
  BrokenPipeIgnored(const BrokenPipeIgnored &) = delete;
  BrokenPipeIgnored &operator=(const BrokenPipeIgnored &) = delete;

private:
  sigset_t pipe, before;
  bool wasPending;
};

} // namespace attnc::remote
