// The keys of schedules, a struct for each form: each key, its default and its
// range is said once, for assembly, JSON and the verifier.
#ifndef ATTNC_DIALECTS_TILE_SCHEDULES_H
#define ATTNC_DIALECTS_TILE_SCHEDULES_H

#include "dialects/Red/Schedule.h"
#include "mlir/IR/OpImplementation.h"

namespace attnc::tile {

/// What an integer can be: multiples of `multiple` from `least` to `most`.
struct KeyRange {
  int64_t least = 0, most = INT64_MAX, multiple = 1;
  llvm::StringLiteral zero = ""; ///< what 0 stands for, if it can be 0 beside that
};

/// What products of f32 keep of their operands, the most exact first.
enum class Accuracy {
  F32,    ///< f32's, within the bound of docs/notes/error-analysis.md
  Halves, ///< the same where rows of a tile, and columns, are of like magnitude; nobody looks
  Tf32,   ///< 11 bits, under the same condition
};
inline constexpr llvm::StringLiteral kAccuracyNames[] = {"f32", "halves", "tf32"};

/// A key: its name, where its value is, and what the value can be.
struct ScheduleKey {
  llvm::StringLiteral name;
  std::variant<int64_t *, bool *, double *, Accuracy *> value;
  KeyRange range = {};
  bool isElided = false; ///< not printed where it is 0, false or the first name, its default

  /// Why the value is out of its range, or "".
  std::string check() const;
};
using ScheduleKeys = llvm::SmallVector<ScheduleKey, 16>;

/// The most that a running maximum may lag, in powers of 2: weights stay below
/// 2^8, which every 16-bit type holds with room for a factor beside them.
inline constexpr double kMostRescaleThreshold = 8;

class WarpgroupsAttr;
class PortableAttr;
class RowsAttr;
class GenericAttr;
class CpuAttr;

/// How a stream nest is divided among warps with roles: one warpgroup whose
/// first thread starts all copies, and `groups` that compute, each 64 rows of
/// the block's row tile.
struct WarpgroupSchedule {
  using Attr = WarpgroupsAttr;

  int64_t groups = 2;             ///< warpgroups that compute
  int64_t streamTile = 128;       ///< stream indices of a tile
  int64_t stages = 2;             ///< tiles of each streamed operand in shared memory at a time
  int64_t rowStages = 1;          ///< row tiles of each resident operand in shared memory at a time
  int64_t producerRegisters = 24; ///< of a thread of the warpgroup that copies
  int64_t consumerRegisters = 240; ///< of a thread of the others
  bool pingPong = true;            ///< groups start their products one after the other
  bool persistent = true;          ///< one block per multiprocessor takes row tiles in turn
  bool dynamicScheduler = false; ///< which it draws from a counter in memory; else by equal strides
  bool copyInputs = true;        ///< row x stream tensors arrive as tiles; else code reads elements
  bool bulkStores = false;       ///< 16-bit results leave through shared memory, as boxes
  int64_t pack = 1;              ///< indices of a grid dim whose rows share a tile (packing.h)
  double rescaleThreshold = 3;   ///< a running maximum may lag by this much, in powers of 2
  /// Columns of the states that a block computes (seesaw: a group); blocks share the rest and
  /// each computes the scores. 0: all.
  int64_t headDimTile = 0;
  /// Columns of the streamed operands of scores that arrive and are released at
  /// a time, and tiles of so many in shared memory at a time. 0: all.
  int64_t depth = 0, depthStages = 0;
  /// Columns of the row x stream tensors that stay in shared memory while the grid dims go on that
  /// none of these has: all of the stream, which has no more elements. 0: tiles of them arrive with
  /// those of the stream.
  int64_t residentInputs = 0;
  /// Two groups share 64 rows: each has half of a block's columns of the states, and every other
  /// tile of the stream; they exchange weights. Then `stages` are slots of each group's ring of
  /// operands.
  bool seesaw = false;
  /// Two blocks of a cluster share the rows of a seesaw: each has half of the columns of the
  /// states, and sums scores over half of their depth, which it adds to the other's through
  /// distributed shared memory.
  bool cluster = false;
  /// Each weight is made, and multiplied, as soon as its scores are there, those of one tile after
  /// the other. Else all scores of a tile come first, and what they are multiplied with while those
  /// of the next tile are computed.
  bool stagedWeights = false;
  /// Of a thread of one more warpgroup, which multiplies what sums over rows are made of and adds
  /// it to memory. 0: there is none, as there are no such sums.
  int64_t adderRegisters = 0;
  Accuracy accuracy = Accuracy::F32; ///< of products of f32

  /// That share rows and the depth of scores.
  int64_t blocks() const { return cluster ? 2 : 1; }
  int64_t rowTile() const { return seesaw ? 64 : 64 * groups; }
  /// Stream indices that the groups go on by together.
  int64_t streamStep() const { return seesaw ? groups * streamTile : streamTile; }
  /// Indices of the row dim in a tile.
  int64_t rowIndices() const { return rowTile() / pack; }
  int64_t threads() const { return 128 * (groups + (adderRegisters ? 2 : 1)); }
  /// Blocks that a multiprocessor has room for: two of one group that leave registers for each
  /// other. While one waits for its products, the other computes.
  int64_t minBlocks() const {
    constexpr int64_t kOfOneThreadEach = 65536 / 128;
    return groups == 1 && 2 * (producerRegisters + consumerRegisters) <= kOfOneThreadEach ? 2 : 1;
  }
  /// Parts in a ring whose products may be unfinished while the next ones are started: some slots
  /// are left for what is on its way.
  int64_t pendingParts() const { return std::clamp<int64_t>(stages - 2, 1, 2); }

  bool operator==(const WarpgroupSchedule &) const = default;
  ScheduleKeys keys();
  /// Why no nest and no machine can run by this, or "".
  std::string check() const;
  /// Which of the values, each in its range, exclude each other, or "".
  std::string conflict() const;

private:
  std::string seesawConflict() const;
  std::string residentConflict() const;
};

/// How a stream nest is cut into tiles.
struct PortableSchedule {
  using Attr = PortableAttr;

  int64_t rowTile = 64;    ///< rows of a block: 16 or more for each warp, or warps that share rows
  int64_t streamTile = 64; ///< stream indices of a tile
  int64_t warps = 4;       ///< that copy and compute
  int64_t stages = 2;      ///< tiles of the stream in shared memory at a time
  int64_t minBlocks = 1;   ///< blocks that have to fit on a multiprocessor: limits registers
  double rescaleThreshold = 8; ///< a running maximum may lag by this much, in powers of 2
  /// Columns of the states that a block computes, or a warp of those that share rows; blocks share
  /// the rest and each computes the scores. 0: all.
  int64_t headDimTile = 0;
  /// Columns of the operands of scores in shared memory at a time; 0: all.
  int64_t depth = 0;
  /// Warps that share rows: each has headDimTile columns of the states and a part of a tile's
  /// scores, and takes the weights of the others from shared memory. 0: each has rows of its own.
  int64_t columnWarps = 0;
  /// Groups of warps that have the same rows: each has headDimTile columns of the states and
  /// computes the scores itself. 0: all warps have all columns.
  int64_t columnGroups = 0;
  /// Whether tensors with both dims arrive in shared memory as the streamed
  /// operands do, where their extents allow it (stream_inputs.h); else code
  /// reads their elements.
  bool copyInputs = false;
  /// Whether states multiply f32 as halves (tile.mma): of nests whose f32
  /// operands are roundedSums.
  bool halves = false;

  /// Rows of a warp, and the columns of its scores.
  int64_t warpRows() const { return rowTile / (warps / warpsOfRows()); }
  int64_t scoreColumns() const { return streamTile / sharingWarps(); }
  /// Warps that divide the scores of the same rows, and warps that have the same rows.
  int64_t sharingWarps() const { return std::max<int64_t>(1, columnWarps); }
  int64_t warpsOfRows() const { return std::max<int64_t>(sharingWarps(), columnGroups); }

  bool operator==(const PortableSchedule &) const = default;
  ScheduleKeys keys();
  std::string check() const;
};

/// How a nest is cut in the rows form.
struct RowsSchedule {
  using Attr = RowsAttr;

  int64_t threads = 128;   ///< of a block
  int64_t rows = 1;        ///< of a block
  int64_t streamTile = 64; ///< stream indices between barriers

  bool operator==(const RowsSchedule &) const = default;
  ScheduleKeys keys();
  std::string check() const;
};

/// A thread for each element.
struct GenericSchedule {
  using Attr = GenericAttr;

  int64_t threads = 128; ///< of a block
  /// A block has all elements at one index of each of the first `cellDims` dims, whose threads take
  /// them in turn. 0: it has as many elements as threads.
  int64_t cellDims = 0;

  bool operator==(const GenericSchedule &) const = default;
  ScheduleKeys keys();
  std::string check() const;
};

/// The tiles of a processor's loops; 0: as the code generator chooses.
struct CpuSchedule {
  using Attr = CpuAttr;

  int64_t rowTile = 0;    ///< of the last row dim
  int64_t streamTile = 0; ///< of the last stream dim

  bool operator==(const CpuSchedule &) const = default;
  ScheduleKeys keys();
  std::string check() const;
};

/// That of a name, or nothing.
std::optional<Accuracy> accuracyOf(llvm::StringRef name);

/// The keys that are printed.
std::vector<red::ScheduleValue> printedKeys(const ScheduleKeys &keys);
/// `<groups = 2, stream_tile = 128>`, or nothing where no key is printed.
void printKeys(mlir::AsmPrinter &printer, const std::vector<red::ScheduleValue> &keys);
/// The same; keys that are not there keep their values.
mlir::ParseResult parseKeys(mlir::AsmParser &parser, ScheduleKeys keys);
/// Of the values of all keys.
llvm::hash_code hashKeys(const ScheduleKeys &keys);

template <typename T>
concept ScheduleStruct = requires(T schedule) {
  { schedule.keys() } -> std::same_as<ScheduleKeys>;
};

template <ScheduleStruct T> std::vector<red::ScheduleValue> printedKeys(T schedule) {
  return printedKeys(schedule.keys());
}
template <ScheduleStruct T> void printKeys(mlir::AsmPrinter &printer, const T &schedule) {
  printKeys(printer, printedKeys(schedule));
}
template <ScheduleStruct T> llvm::hash_code hash_value(T schedule) { // NOLINT: found by its name
  return hashKeys(schedule.keys());
}

/// The keys of a schedule of the form T, or nothing if it is none, or null.
template <ScheduleStruct T> std::optional<T> scheduleAs(red::Schedule schedule) {
  if (auto attr = llvm::dyn_cast_if_present<typename T::Attr>(schedule))
    return attr.getValue();
  return std::nullopt;
}

} // namespace attnc::tile

#endif
