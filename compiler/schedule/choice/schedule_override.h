// What the user says of schedules: the keys of a schedule file.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_SCHEDULE_OVERRIDE_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_SCHEDULE_OVERRIDE_H

#include "attnc/result.h"
#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "dialects/Red/Red.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// The nest's schedule, changed by the keys of a JSON object:
///   {"form": "warpgroups", "groups": 3, "stream_tile": 80, "stages": 3, "row_stages": 1,
///   "producer_registers": 32,
///    "consumer_registers": 160, "ping_pong": true, "persistent": true, "dynamic_scheduler": false,
///    "copy_inputs": true, "bulk_stores": true, "pack": 1, "rescale_threshold": 8}
///   {"form": "portable", "row_tile": 64, "stream_tile": 32, "warps": 4, "stages": 2,
///   "rescale_threshold": 8,
///    "min_blocks": 1, "copy_inputs": true, "halves": false}
///   {"form": "generic", "threads": 256}
/// Without "form" a key that only one form has names it; otherwise the nest keeps its form. Keys
/// that are not named stay, with warpgroups they become the best by prediction for those that are.
/// The error (InvalidArgument) names the key, or what does not fit and what would.
Result<red::Schedule> overriddenSchedule(PlannedNest &nest, const GpuModel &machine,
                                         const nlohmann::json &keys);

/// Changes schedules by null, or by an object whose keys are those of overriddenSchedule (for every
/// nest that has tiles, or for every nest that can have the form that they name) or names of
/// kernels, with an object of such keys each.
Status applyOverrides(llvm::ArrayRef<red::NestOp> nests, const GpuModel &machine,
                      const nlohmann::json &overrides);

/// For a target without schedules: refuses keys, kernels and kinds of values that no schedule has.
Status checkOverrides(llvm::ArrayRef<red::NestOp> nests, const nlohmann::json &overrides);

} // namespace attnc::schedule

#endif
