#include "runtime/cuda/tensor_map_cache.h"

#include <algorithm>

namespace attnc {

Result<EncodedTensorMap> TensorMapCache::get(const TensorMapArg &map, const Encode &encode) {
  auto isMap = [&](const Entry &entry) { return entry.map == map; };
  {
    std::lock_guard lock(mutex);
    auto found = std::find_if(entries.rbegin(), entries.rend(), isMap);
    if (found != entries.rend()) {
      std::rotate(found.base() - 1, found.base(), entries.end());
      return entries.back().encoded;
    }
  }
  Result<EncodedTensorMap> encoded = encode(map);
  if (!encoded)
    return encoded;
  std::lock_guard lock(mutex);
  // Another thread may have encoded the same map meanwhile; one entry of it is enough.
  if (std::any_of(entries.begin(), entries.end(), isMap))
    return encoded;
  if (entries.size() >= capacity)
    entries.erase(entries.begin());
  entries.push_back({map, *encoded});
  return encoded;
}

} // namespace attnc
