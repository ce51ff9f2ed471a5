#pragma once

/// Encoded tensor maps of recent launches, by what they say.

#include "attnc/result.h"
#include "runtime/cuda/driver.h"
#include "runtime/program/tensor_map.h"

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace attnc {

/// Remembers the last maps that were asked for, so that a call on the same tensors encodes nothing.
/// An encoded map holds addresses but no memory, so an entry may outlive its tensor. Safe to use
/// from several threads.
class TensorMapCache {
public:
  using Encode = std::function<Result<EncodedTensorMap>(const TensorMapArg &)>;

  explicit TensorMapCache(std::size_t capacity = 64) : capacity(capacity) {}

  /// The map as encoded before, or now with `encode`, whose errors are passed on.
  Result<EncodedTensorMap> get(const TensorMapArg &map, const Encode &encode);

private:
  struct Entry {
    TensorMapArg map;
    EncodedTensorMap encoded;
  };

  std::size_t capacity;
  std::mutex mutex;
  std::vector<Entry> entries; ///< the one that was used last is at the back
};

} // namespace attnc
