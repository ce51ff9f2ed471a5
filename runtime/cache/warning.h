#pragma once

/// What the cache has to say where it cannot do its work. Nothing fails for it.

#include "attnc/result.h"

#include <functional>

namespace attnc::cache {

using Warn = std::function<void(const Error &)>;

/// Who is told, from now on: a process says one thing about its cache, the first one. Null: nobody
/// is. Without a call it is stderr. Thread-safe; the function is called by whichever thread finds
/// out, and must not call this.
void setWarning(Warn warn);

/// Says it, if it is the first of the process since setWarning.
void warnOnce(const Error &error);

} // namespace attnc::cache
