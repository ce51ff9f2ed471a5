// Schedules for launches with many short sequences: a row tile has few steps, so what its start and
// its end take counts as much.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_SHORT_SEQUENCES_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_SHORT_SEQUENCES_H

#include "compiler/schedule/model/cost_model.h"
#include "compiler/schedule/nest/planned_nest.h"

namespace attnc::schedule {

/// Sequences of up to `longest` rows and stream indices, and those that a schedule for them is
/// chosen by.
struct ShortSequences {
  llvm::StringRef prefix; ///< of the kernels of a variant for them
  int64_t longest;
  llvm::ArrayRef<ReferenceExtents> references;
  /// Those with several tiles of so many rows, which have fewer empty ones than the tiles, of
  /// `otherTile` rows, of the sequences behind these; 0: all.
  int64_t rowTile = 0, otherTile = 0;

  /// Whether a sequence with so many rows is one of these, of those that are short enough.
  bool fits(int64_t rows) const;
};

/// In the order in which they are asked whether they have a sequence.
llvm::ArrayRef<ShortSequences> shortSequences();

/// True if the extents of the nest's rows and stream are static, and those of such sequences.
bool isAlwaysShort(red::NestOp nest, const StreamPlan &plan, const ShortSequences &sequences);

/// The schedule of a nest of which that is true; nothing of others.
std::optional<WarpgroupSchedule> scheduleIfAlwaysShort(red::NestOp nest, const StreamPlan &plan,
                                                       const GpuModel &machine);

/// The best schedule with warpgroups for such sequences; nothing where none fits.
std::optional<WarpgroupSchedule> shortSchedule(red::NestOp nest, const StreamPlan &plan,
                                               const GpuModel &machine,
                                               const ShortSequences &sequences);

/// The same for each of shortSequences() and a nest whose own schedule, with warpgroups, is for long
/// ones, but whose sequences may be short. Nothing where they are always so, or never, or the
/// schedule is the same.
std::vector<std::optional<WarpgroupSchedule>> othersIfShort(PlannedNest &planned,
                                                            const GpuModel &machine);

} // namespace attnc::schedule

#endif
