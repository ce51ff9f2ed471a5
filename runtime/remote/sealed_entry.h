#pragma once

/// Entries of the cache on their way between machines: with a proof that the fleet has written
/// them.

#include "runtime/remote/fleet_keys.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace attnc::remote {

/// What stands in front of a sealed entry: 8 bytes "attncrem", the version 1 (4, little endian),
/// and HMAC-SHA-256 under the fleet's key of these 12 bytes and the entry (32). The entry
/// (cache/entry.h) follows; its own header, with its tier and key, is under the HMAC, so it cannot
/// pass for another.
inline constexpr std::size_t sealBytes = 8 + 4 + 32;

std::string seal(const FleetKeys &keys, std::string_view entry);

/// The entry. Nothing of it is looked at before its HMAC is right, which takes the same time
/// whatever it is. Error (InvalidArgument): it is none, of another version, or not sealed by this
/// fleet.
Result<std::string_view> unseal(const FleetKeys &keys, std::string_view sealed);

} // namespace attnc::remote
