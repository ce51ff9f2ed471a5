// The portable schedules that the compiler knows, and for which nests.
#ifndef ATTNC_COMPILER_SCHEDULE_PORTABLE_PORTABLE_CANDIDATES_H
#define ATTNC_COMPILER_SCHEDULE_PORTABLE_PORTABLE_CANDIDATES_H

#include "compiler/schedule/portable/portable_schedule.h"

namespace attnc::schedule {

/// Schedules for the nest, the one to prefer first; whether the machine has what they need is not
/// asked here.
std::vector<PortableSchedule> portableCandidates(red::NestOp nest, const StreamPlan &plan);

/// Those of ordinary nests, large tiles first.
llvm::ArrayRef<PortableSchedule> usualTiles();

/// Operands of f32 that states stream are all sums that have been rounded to less than halves keep.
bool allowsHalves(const StreamPlan &plan);

/// True if threads compute the nest's product in less time than a warp takes for tiles of it, which
/// would be padding: it has as few terms.
bool isTiny(red::NestOp nest, const StreamPlan &plan);

} // namespace attnc::schedule

#endif
