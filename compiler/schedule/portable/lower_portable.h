// The portable form of a nest: tiles, tensor cores, one pass over the stream.
#ifndef ATTNC_COMPILER_SCHEDULE_PORTABLE_LOWER_PORTABLE_H
#define ATTNC_COMPILER_SCHEDULE_PORTABLE_LOWER_PORTABLE_H

#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/portable/portable_schedule.h"

namespace attnc::schedule {

/// Lowers a nest that canLowerPortable accepts to a kernel at the builder's insertion point, by its
/// schedule (see PortableSchedule). A block computes `row_tile` rows of one cell of the grid dims.
/// The extents of the row and stream dims may be 2^30 at most, and the tensors must be aligned as
/// requiredAlignment says.
mlir::FailureOr<tile::KernelOp> lowerPortableNest(PlannedNest &planned, mlir::OpBuilder &builder);

/// The same for a nest whose schedule has the form "warpgroups" (see WarpgroupSchedule). Its
/// operands arrive through tensor maps, whose strides are multiples of 16 bytes.
mlir::FailureOr<tile::KernelOp> lowerWarpgroupNest(PlannedNest &planned, mlir::OpBuilder &builder);

/// Bytes to which the pointer that is the kernel's argument `number`, and its strides, have to be
/// aligned; 1 if it does not matter beyond the element's size.
int64_t requiredAlignment(tile::KernelOp kernel, unsigned number);

} // namespace attnc::schedule

#endif
