// The interface of the attributes that say how a nest is computed.
#ifndef ATTNC_DIALECTS_RED_SCHEDULE_H
#define ATTNC_DIALECTS_RED_SCHEDULE_H

#include "mlir/IR/Attributes.h"
#include <string>
#include <variant>
#include <vector>

namespace attnc::red {

/// A key of a schedule and its value.
struct ScheduleValue {
  llvm::StringRef key;
  std::variant<int64_t, bool, double, llvm::StringRef> value;
};

} // namespace attnc::red

#include "dialects/Red/Schedule.h.inc"

#endif
