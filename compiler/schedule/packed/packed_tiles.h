// Row tiles that follow the sequences of packed results.
#ifndef ATTNC_COMPILER_SCHEDULE_PACKED_PACKED_TILES_H
#define ATTNC_COMPILER_SCHEDULE_PACKED_PACKED_TILES_H

#include "compiler/schedule/stream/stream_plan.h"
#include "dialects/Tile/Schedules.h"

namespace attnc::schedule {

/// The nest's results that are packed.
llvm::SmallVector<red::PackOp> packsOf(red::NestOp nest);

/// The red.pack whose sequences the row tiles of a nest follow: all its results are packed, as this
/// one is, along its rows. Null if there is none: then each index of the dim that counts the
/// sequences has tiles for all of the row dim.
///
/// The tiles of sequence b have the numbers from start[b] / rows + b on (rounded down), `rows`
/// those of a tile. Of these there are enough for start[b + 1] - start[b] rows, and the next
/// sequence's follow; so all sequences together have at most one tile more than there are sequences
/// beyond the tiles of all rows. A number beyond a sequence's last row is a tile of nothing.
red::PackOp packOfTiles(red::NestOp nest, const StreamPlan &plan);
/// That of a kernel of warpgroups: none where tiles have indices of several dims, or blocks walk
/// over the row tiles of their cells.
red::PackOp packOfTiles(red::NestOp nest, const StreamPlan &plan,
                        const tile::WarpgroupSchedule &schedule);

/// How many numbers there are, as tile.kernel's grid writes it.
mlir::Attribute packedRowTiles(red::PackOp pack, int64_t rows, mlir::Builder &builder);

} // namespace attnc::schedule

#endif
