#include "compiler/driver/fold_choice.h"
#include <fmt/format.h>

namespace attnc::driver {

Result<FoldChoice> takeFoldChoice(nlohmann::json &keys) {
  using Fold = FoldChoice::Fold;
  nlohmann::json fold = keys.value("fold", nlohmann::json("auto"));
  bool isSaid = keys.contains("splits");
  nlohmann::json splits = keys.value("splits", nlohmann::json("auto"));
  keys.erase("fold");
  keys.erase("splits");
  if (fold != "auto" && fold != "stream" && fold != "two_pass")
    return invalidArgument("schedule: fold is " + fold.dump() +
                               "; it can be \"auto\", \"stream\" or \"two_pass\"",
                           "leave the key out");
  bool isNumber = splits.is_number_integer() && splits >= 2 && splits <= kMostParts;
  if (!isNumber && splits != "auto")
    return invalidArgument(fmt::format("schedule: splits is {}; it can be \"auto\" or a whole "
                                       "number from 2 to {}",
                                       splits.dump(), kMostParts),
                           "leave the key out");
  FoldChoice choice;
  choice.fold = fold == "auto" ? Fold::Auto : fold == "stream" ? Fold::Stream : Fold::TwoPass;
  if (isNumber)
    choice.parts = splits.get<std::int64_t>();
  else if (choice.fold == Fold::TwoPass && !isSaid)
    choice.parts = kDefaultParts;
  return choice;
}

} // namespace attnc::driver
