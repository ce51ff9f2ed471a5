#pragma once

/// Entries beyond this machine, as a store sees them.

#include "attnc/result.h"
#include "runtime/cache/entry.h"

#include <optional>
#include <string>
#include <string_view>

namespace attnc::cache {

/// Nothing fails for it: what cannot be reached is not there, and costs little time. Thread-safe.
class RemoteTier {
public:
  virtual ~RemoteTier() = default;

  /// The bytes of an entry (entry.h) that is proven to be of this fleet and is whole.
  virtual std::optional<std::string> get(Tier tier, const std::string &key) = 0;
  /// `entry` is encodeEntry's.
  virtual void put(Tier tier, const std::string &key, std::string_view entry) = 0;

  /// A program under `key`, compiled there; the bytes of its entry, checked as those of get. It
  /// waits its turn. Nothing: nobody there can do it now, or at all; `unreached` says why. Errors:
  /// those of the compilation. `request` is the JSON of docs/service.md, `build` the caller's.
  virtual std::optional<Result<std::string>> compile(const std::string &request,
                                                     const std::string &build,
                                                     const std::string &key, Error &unreached) = 0;
};

} // namespace attnc::cache
