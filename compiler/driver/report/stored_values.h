// Why a value goes through memory from one kernel to another.
#ifndef ATTNC_COMPILER_DRIVER_REPORT_STORED_VALUES_H
#define ATTNC_COMPILER_DRIVER_REPORT_STORED_VALUES_H

#include "dialects/Red/Red.h"
#include <string>

namespace attnc::driver {

/// What keeps `result`, which a nest stores for others, from being computed where it is needed, in
/// words: which nests need it, and that they read it at other indices than those at which it is
/// computed, or that it is known only at the end of a pass. Empty where no nest reads it.
std::string whyStored(mlir::Value result);

} // namespace attnc::driver

#endif
