#pragma once

/// The secret that the machines of a fleet share.

#include "attnc/result.h"

#include <string>
#include <vector>

namespace attnc::remote {

/// One to four keys: the first one seals, all of them open, so that a key can be replaced while
/// both are in use. Immutable.
class FleetKeys {
public:
  /// A file with a line for each key, 64 hexadecimal digits; '#' begins a comment. Errors, which
  /// name the file and the line: InvalidArgument, where it is something else or has no key;
  /// Environment, where it cannot be read, or others than its owner and root may write to it.
  static Result<FleetKeys> read(const std::string &file);

  /// As bytes, 32 each.
  const std::vector<std::string> &keys() const { return all; }

private:
  std::vector<std::string> all;
};

} // namespace attnc::remote
