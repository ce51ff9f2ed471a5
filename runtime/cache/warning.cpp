#include "runtime/cache/warning.h"

#include <cstdio>
#include <mutex>

namespace attnc::cache {

namespace {

void toStderr(const Error &error) {
  std::fprintf(stderr, "attnc: warning: %s\n", error.text().c_str());
}

struct Warning {
  std::mutex mutex;
  Warn warn = toStderr; ///< null once it was called
};

/// Of the process: a library that is called many times says a thing once.
Warning &warning() {
  static Warning &only = *new Warning; // outlives every thread
  return only;
}

} // namespace

void setWarning(Warn warn) {
  std::lock_guard guard(warning().mutex);
  warning().warn = std::move(warn);
}

void warnOnce(const Error &error) {
  std::lock_guard guard(warning().mutex);
  if (Warn warn = std::exchange(warning().warn, nullptr))
    warn(error);
}

} // namespace attnc::cache
