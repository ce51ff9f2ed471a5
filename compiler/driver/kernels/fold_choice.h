// The schedule's keys that say how streams are folded.
#ifndef ATTNC_COMPILER_DRIVER_KERNELS_FOLD_CHOICE_H
#define ATTNC_COMPILER_DRIVER_KERNELS_FOLD_CHOICE_H

#include "attnc/result.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

namespace attnc::driver {

struct FoldChoice {
  /// Auto: in one pass, or in parts where launches would leave much of the GPU idle.
  enum class Fold { Auto, OnePass, TwoPass };
  Fold fold = Fold::Auto;
  /// Parts of a stream; none: as many as fill the GPU at hand.
  std::optional<std::int64_t> parts;
  /// Memory for weights that several products read; 0: none is used; nothing: what is best.
  std::optional<std::int64_t> slabBytes;
  /// Whether blocks add to sums of other rows, in any order; nothing: what is best.
  std::optional<bool> joinsSums;
};

inline constexpr std::int64_t kDefaultSplits = 8;
inline constexpr std::int64_t kMostParts = 128; ///< their states are kept in memory

/// Takes `fold`, `splits`, `slab_bytes` and `joined_sums` out of the schedule's keys. Error
/// (InvalidArgument): a value that they cannot have.
Result<FoldChoice> takeFoldChoice(nlohmann::json &keys);

} // namespace attnc::driver

#endif
