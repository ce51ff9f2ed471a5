// Schedules for launches with few rows, as one query for each head: as fast as the stream can be
// read, so nothing of it should be read twice.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_FEW_ROWS_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_FEW_ROWS_H

#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Rows of each index of a packed dim that a row tile has: those of a warp.
inline constexpr int64_t kPackedRows = 16;

/// The schedule whose row tiles have up to kPackedRows rows of each of several indices that see the
/// same stream, as many as are known to, 8 at most; its steps take less time than memory needs for
/// the stream's tiles, where one does. Nothing where the nest has no such indices, more rows
/// whatever the launch, or no schedule that fits.
std::optional<tile::WarpgroupSchedule> fewRowsSchedule(PlannedNest &planned,
                                                       const GpuModel &machine);

} // namespace attnc::schedule

#endif
