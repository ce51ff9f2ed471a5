// The tiles of the processor's code: the keys of the form "cpu".
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_CPU_TILES_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_CPU_TILES_H

#include "attnc/result.h"
#include "dialects/Red/Red.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// Whether an object of keys is for the target cpu.
bool isForCpu(const nlohmann::json &keys);
/// Sets the schedules of nests for the target cpu. An object of keys, for every nest or under the
/// name of a kernel, that has
///   {"form": "cpu", "row_tile": 16, "stream_tile": 24}
/// says how large the tiles are of the last row dim and of the last stream dim,
/// 1 to 1024; 0, or a key that is left out, leaves the choice to the code
/// generator. Objects of other forms are for GPUs: they are checked as
/// checkOverrides does, and have no effect. Null changes nothing. The error
/// (InvalidArgument) names the key.
Status setCpuTiles(llvm::ArrayRef<red::NestOp> nests, const nlohmann::json &overrides);

} // namespace attnc::schedule

#endif
