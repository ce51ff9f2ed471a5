#include "compiler/driver/kernels/fold_choice.h"
#include <fmt/format.h>

namespace attnc::driver {

Result<FoldChoice> takeFoldChoice(nlohmann::json &keys) {
  using Fold = FoldChoice::Fold;
  nlohmann::json fold = keys.value("fold", nlohmann::json("auto"));
  bool isSaid = keys.contains("splits");
  nlohmann::json splits = keys.value("splits", nlohmann::json("auto"));
  nlohmann::json slab = keys.value("slab_bytes", nlohmann::json("auto"));
  nlohmann::json joined = keys.value("joined_sums", nlohmann::json("auto"));
  keys.erase("fold");
  keys.erase("splits");
  keys.erase("slab_bytes");
  keys.erase("joined_sums");
  if (fold == "stream")
    return invalidArgument("schedule: fold \"stream\" is called \"one_pass\"", "write one_pass");
  if (fold != "auto" && fold != "one_pass" && fold != "two_pass")
    return invalidArgument("schedule: fold is " + fold.dump() +
                               "; it can be \"auto\", \"one_pass\" or \"two_pass\"",
                           "leave the key out");
  bool isNumber = splits.is_number_integer() && splits >= 2 && splits <= kMostParts;
  if (!isNumber && splits != "auto")
    return invalidArgument(fmt::format("schedule: splits is {}; it can be \"auto\" or a whole "
                                       "number from 2 to {}",
                                       splits.dump(), kMostParts),
                           "leave the key out");
  if (slab != "auto" && !(slab.is_number_integer() && slab >= 0))
    return invalidArgument(
        "schedule: slab_bytes is " + slab.dump() +
            "; it can be \"auto\", or bytes of memory for weights, and 0 for none",
        "leave the key out");
  if (joined != "auto" && !joined.is_boolean())
    return invalidArgument("schedule: joined_sums is " + joined.dump() +
                               "; it can be \"auto\", true, or false for the same bits in each run",
                           "leave the key out");
  FoldChoice choice;
  if (joined != "auto")
    choice.joinsSums = joined.get<bool>();
  if (slab != "auto")
    choice.slabBytes = slab.get<std::int64_t>();
  choice.fold = fold == "auto" ? Fold::Auto : fold == "one_pass" ? Fold::OnePass : Fold::TwoPass;
  if (isNumber)
    choice.parts = splits.get<std::int64_t>();
  else if (choice.fold == Fold::TwoPass && !isSaid)
    choice.parts = kDefaultSplits;
  return choice;
}

} // namespace attnc::driver
