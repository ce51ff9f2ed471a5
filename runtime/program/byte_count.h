#pragma once

/// Numbers of bytes as people write and read them.

#include "attnc/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace attnc {

/// "2GiB" as bytes: a number without sign, whole or decimal, and a unit in letters of either case:
/// B or none for bytes, KiB MiB GiB TiB PiB for powers of 1024, KB MB GB TB PB for powers of 1000.
/// A part of a byte is dropped. Errors (InvalidArgument): anything else, and more than 2^63 - 1.
Result<std::int64_t> parseBytes(std::string_view text);

/// "1.5 KiB", to one digit after the point; whole bytes below 1024.
std::string bytesText(double bytes);

} // namespace attnc
