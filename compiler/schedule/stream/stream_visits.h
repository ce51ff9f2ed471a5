// How much of the stream the rows of a nest see: its domain, at given extents.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_STREAM_VISITS_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_STREAM_VISITS_H

#include "compiler/schedule/stream/stream_plan.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc::schedule {

/// The part lo <= index < hi of the stream that a tile of rows visits.
struct StreamRange {
  int64_t lo, hi;
};

/// Extents of dims besides row and stream, and indices of grid dims, which are 0 where not given.
struct GridCell {
  std::map<std::string, int64_t> extents, indices;
};

/// The ranges of the tiles of `rowTile` rows, in order, where the row and the stream dim have the
/// given extents. Params have their defaults; where a bound cannot be computed so, it is that of
/// the whole stream.
std::vector<StreamRange> streamRanges(red::NestOp nest, const StreamPlan &plan, int64_t rowTile,
                                      int64_t rows, int64_t extent, const GridCell &cell = {});

/// The extent of `dim` at such a cell, also where it is computed from others; nothing if it is not
/// known.
std::optional<int64_t> extentIn(red::NestOp nest, const StreamPlan &plan, mlir::StringAttr dim,
                                int64_t rows, int64_t extent, const GridCell &cell);

/// The value that `dim`'s extent is computed from, as that of the parts of a split is; null if it
/// is bound.
mlir::Value computedExtent(attn::ProgramOp program, mlir::StringAttr dim);

/// What a domain says of a tile: no row needs it, some elements may be masked, none is.
enum class TileClass : uint8_t { Skipped, Partial, Full };

/// Classes of tiles of `rowTile` rows and `columns` stream indices, a list of the stream's tiles
/// for each tile of rows; extents and params as above. Nothing if the domain has no condition for
/// single tiles, or if one depends on data.
std::optional<std::vector<std::vector<TileClass>>> tileClasses(red::NestOp nest,
                                                               const StreamPlan &plan,
                                                               int64_t rowTile, int64_t columns,
                                                               int64_t rows, int64_t extent);

/// False if no tile of the range that rows visit is skipped at these extents, however small tiles
/// are, and neither data, params nor the indices of the grid would change that: asking which tiles
/// matter is then in vain.
bool maySkipTiles(red::NestOp nest, const StreamPlan &plan, int64_t rows, int64_t extent);

} // namespace attnc::schedule

#endif
