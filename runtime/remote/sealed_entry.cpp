#include "runtime/remote/sealed_entry.h"

#include "runtime/cache/hmac.h"

#include <algorithm>

namespace attnc::remote {

namespace {

constexpr std::string_view front("attncrem\1\0\0\0", 12);

} // namespace

std::string seal(const FleetKeys &keys, std::string_view entry) {
  cache::Digest proof = cache::hmacSha256(keys.keys().front(), {front, entry});
  std::string sealed(front);
  sealed.append(proof.begin(), proof.end());
  return sealed.append(entry);
}

Result<std::string_view> unseal(const FleetKeys &keys, std::string_view sealed) {
  if (sealed.size() < sealBytes || sealed.substr(0, 8) != front.substr(0, 8))
    return invalidArgument("it is no sealed entry, or cut off");
  if (!sealed.starts_with(front))
    return invalidArgument("the seal is of another version");
  cache::Digest given;
  std::copy_n(sealed.begin() + front.size(), given.size(), given.begin());
  std::string_view entry = sealed.substr(sealBytes);
  bool isOurs = false;
  for (const std::string &key : keys.keys())
    isOurs |= cache::equalInConstantTime(cache::hmacSha256(key, {front, entry}), given);
  if (!isOurs)
    return invalidArgument("the entry is not sealed with a key of this fleet",
                           "every machine of a fleet needs the same key file");
  return entry;
}

} // namespace attnc::remote
