// What the user says of schedules: the keys of a schedule file.
#ifndef ATTNC_COMPILER_SCHEDULE_SCHEDULE_OVERRIDE_H
#define ATTNC_COMPILER_SCHEDULE_SCHEDULE_OVERRIDE_H

#include "attnc/result.h"
#include "compiler/schedule/machine.h"
#include "dialects/Red/Red.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// Changes the nest's schedule, which chooseSchedule has set, by the keys of a JSON object:
///   {"form": "warpgroups", "groups": 3, "stream_tile": 80, "stages": 3, "row_stages": 1,
///   "load_registers": 32,
///    "group_registers": 160, "alternate": true, "persistent": true, "draws": false,
///    "copy_inputs": true, "bulk_stores": true, "pack": 1, "slack": 8}
///   {"form": "stream", "row_tile": 64, "stream_tile": 32, "warps": 4, "stages": 2, "slack": 8,
///    "min_blocks": 1, "copy_inputs": true, "halves": false}
///   {"form": "generic", "threads": 256}
/// Without "form" a key that only one form has names it; otherwise the nest keeps its form. Keys
/// that are not named stay, with warpgroups they become the best by prediction for those that are.
/// The error (InvalidArgument) names the key, or what does not fit and what would.
Status overrideSchedule(red::NestOp nest, const Machine &machine, const nlohmann::json &keys);

/// Applies null, or an object whose keys are those of overrideSchedule (for every nest that has
/// tiles, or for every nest if they name a form) or names of kernels, with an object of such keys
/// each.
Status applyOverrides(llvm::ArrayRef<red::NestOp> nests, const Machine &machine,
                      const nlohmann::json &overrides);

/// For a target without schedules: refuses keys, kernels and kinds of values that no schedule has.
Status checkOverrides(llvm::ArrayRef<red::NestOp> nests, const nlohmann::json &overrides);

} // namespace attnc::schedule

#endif
