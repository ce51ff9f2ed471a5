#include "compiler/schedule/portable/portable_candidates.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/portable/stream_inputs.h"
#include "compiler/schedule/stream/computed_operands.h"
#include "compiler/schedule/stream/tiled_plan.h"

using namespace mlir;

namespace attnc::schedule {

// In order of preference. Rows of a warp reuse each operand that it loads from shared memory; a
// large stream tile makes barriers and row maxima rare; two blocks hide each other's latencies.
static constexpr PortableSchedule kCandidates[] = {
    {.rowTile = 128, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 128, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 2},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 16, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 32, .streamTile = 16, .warps = 2, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 16, .warps = 1, .stages = 2, .minBlocks = 1},
};

// Of wide heads: warps share rows, so that scores are computed once and each operand that is loaded
// is used for many of them. Large tiles make the barriers rare that this takes.
static constexpr PortableSchedule kSharingCandidates[] = {
    {.rowTile = 128, .streamTile = 128, .warps = 8, .stages = 2, .columnWarps = 2},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2, .columnWarps = 2},
    {.rowTile = 128, .streamTile = 64, .warps = 8, .stages = 3, .columnWarps = 2},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .columnWarps = 2},
    {.rowTile = 96, .streamTile = 128, .warps = 8, .stages = 2, .columnWarps = 4},
    {.rowTile = 64, .streamTile = 128, .warps = 8, .stages = 2, .columnWarps = 4},
    {.rowTile = 64, .streamTile = 64, .warps = 8, .stages = 3, .columnWarps = 4},
    {.rowTile = 32, .streamTile = 64, .warps = 4, .stages = 3, .columnWarps = 4},
    {.rowTile = 32, .streamTile = 64, .warps = 4, .stages = 2, .columnWarps = 4},
    {.rowTile = 48, .streamTile = 128, .warps = 8, .stages = 3, .columnWarps = 8},
    {.rowTile = 32, .streamTile = 128, .warps = 8, .stages = 2, .columnWarps = 8},
    {.rowTile = 16, .streamTile = 64, .warps = 4, .stages = 2, .columnWarps = 4},
};
// Columns of accumulators that warps have without sharing rows.
static constexpr int64_t kOwnColumns = 128;
// A warp's columns are copied best in whole rows of banks, which is worth a quarter of the columns.
static constexpr std::array<int64_t, 3> kColumnMultiples = {64, 32, 16};
static constexpr int64_t kMostWaste = 4;

// The same for operands so wide that their tiles have a part of the columns, and for accumulators
// that only blocks together hold.
static constexpr PortableSchedule kCutCandidates[] = {
    {.rowTile = 128, .streamTile = 64, .warps = 8, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 64, .streamTile = 16, .warps = 4, .stages = 2, .minBlocks = 1},
    {.rowTile = 32, .streamTile = 32, .warps = 2, .stages = 2, .minBlocks = 1},
    {.rowTile = 32, .streamTile = 16, .warps = 2, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 16, .warps = 1, .stages = 2, .minBlocks = 1},
};
// Columns of accumulators that a block has, at most: fewer ones compute the scores more often.
static constexpr int64_t kMostColumns[] = {256, 128, 64};
// Columns of operands of scores that are long enough for the copies of the next ones.
static constexpr int64_t kLeastDepth = 96, kUsualDepth = 128, kMostDepth = 192;

// The depth that leaves the last part as full as others, or 0 where there is little to cut.
static int64_t chooseDepth(int64_t extent) {
  if (extent <= kMostDepth)
    return 0;
  auto cost = [&](int64_t depth) {
    return std::pair(llvm::alignTo(extent, depth), std::abs(depth - kUsualDepth));
  };
  int64_t best = kUsualDepth;
  for (int64_t depth = kLeastDepth; depth <= kMostDepth; depth += 16)
    if (cost(depth) < cost(best))
      best = depth;
  return best;
}

// Of nests with few rows and a short stream, or without products: these are as fast as memory, and
// many small blocks read from it at a time.
static constexpr PortableSchedule kSmallCandidates[] = {
    {.rowTile = 16, .streamTile = 64, .warps = 1, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 32, .warps = 1, .stages = 2, .minBlocks = 1},
    {.rowTile = 16, .streamTile = 16, .warps = 1, .stages = 2, .minBlocks = 1},
};
// Of nests without products whose rows lie side by side in what they read: more of these for each
// index of the stream. Measured of sums over segments of f16, 64 and 128 wide: 0.6 to 0.8 of the
// time that 16 rows and 64 indices take.
static constexpr PortableSchedule kSideBySide = {
    .rowTile = 32, .streamTile = 32, .warps = 1, .stages = 2, .minBlocks = 16};
// Of values of pairs that are folded index by index, which reads little but takes long: many
// blocks of one warp. Measured of 12 terms, 12 heads, 512 and 1024 rows and columns: 31 and 129 us,
// with two warps and tiles of 32 columns 34 and 150 to 166; of 4096 2.7 and 2.6 ms (H200, not
// recorded).
static constexpr PortableSchedule kSlowPairs = {
    .rowTile = 32, .streamTile = 16, .warps = 1, .stages = 2, .minBlocks = 12};
static constexpr int64_t kFewRows = 256;
// Where launches say how many there are.
static constexpr int64_t kUsualHeads = 16;
// Of a product of matrices, those that threads compute without tiles.
static constexpr int64_t kTinyTerms = 512;
// Warps that a multiprocessor has registers for, whatever they need.
static constexpr int64_t kUsualWarps = 8;

static constexpr int64_t kMostRows = 128; // of a tile

// Of nests with few rows and a long stream, or one that is computed. Each block reads all of the
// streamed operands, and may have to compute their tiles: a block has as many of the rows as it
// can. What is left to fill the machine with is parts of the stream.
static std::vector<PortableSchedule> candidatesOfWholeRows(int64_t rows) {
  PortableSchedule tile;
  std::vector<PortableSchedule> all;
  for (tile.rowTile = std::clamp<int64_t>(llvm::PowerOf2Ceil(rows), 16, kMostRows);
       tile.rowTile >= 16; tile.rowTile /= 2) {
    tile.warps = tile.rowTile / 16;
    for (int64_t blocks : {kUsualWarps / tile.warps, int64_t(1)})
      for (int64_t streamTile : {64, 32, 16}) {
        tile.minBlocks = blocks;
        tile.streamTile = streamTile;
        all.push_back(tile);
      }
  }
  return all;
}

// Of f32 and a stream that is one tile: rows are what such a nest reads, and no operand is used
// again. Measured of 4096 rows of 64 cells, 32 indices, D64: 55 us, with 32 rows a warp 62 (H200,
// not recorded).
static constexpr PortableSchedule kOfOneTile = {
    .rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 2};

// Of few rows and f32 so wide that a warp with all columns would be alone with its registers: two
// warps have half of them each. Measured of 12 rows, 512 indices and 128 columns, 512 cells: 43 us,
// with all columns 62 (H200, not recorded).
static constexpr PortableSchedule kOfWideColumns = {
    .rowTile = 16, .streamTile = 32, .warps = 2, .stages = 2, .minBlocks = 4, .columnGroups = 2};
static constexpr int64_t kWideColumns = 128;

// Of products of halves: 32 rows a warp, each of which splits all of the streamed operand.
static constexpr PortableSchedule kHalvesCandidates[] = {
    {.rowTile = 128, .streamTile = 16, .warps = 4, .stages = 2, .minBlocks = 2, .halves = true},
    {.rowTile = 64, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2, .halves = true},
    {.rowTile = 64, .streamTile = 32, .warps = 4, .stages = 2, .minBlocks = 1, .halves = true},
};

// Of rows whose tiles data choose, a few of them together (decidedTogether): warps with as many
// rows as they can have in tiles that are no larger. Measured of 64 rows that each see 6 of 64
// blocks, D64: 0.16 ms, with 16 rows a warp 0.19 (not recorded).
static constexpr PortableSchedule kOfDecidedRows = {
    .rowTile = 64, .streamTile = 64, .warps = 2, .stages = 2, .minBlocks = 2};

// Of matrices whose product has known terms, both from memory: warps with 32 rows, whose columns
// are few enough for two blocks. An f32 factor is split on its way: half of the columns. Measured
// of 64 matrices of 256 x 256: 0.6 of the time that 16 rows of a warp and all columns take in f32,
// and of 16384 x 1024 x 1024 in bf16 (not recorded).
static constexpr PortableSchedule kMatrixCandidates[] = {
    {.rowTile = 128, .streamTile = 64, .warps = 4, .stages = 2, .minBlocks = 2, .headDimTile = 128},
    {.rowTile = 64, .streamTile = 64, .warps = 2, .stages = 2, .minBlocks = 2, .headDimTile = 128},
    {.rowTile = 64, .streamTile = 32, .warps = 2, .stages = 2, .minBlocks = 2, .headDimTile = 64},
    {.rowTile = 32, .streamTile = 32, .warps = 1, .stages = 2, .minBlocks = 2, .headDimTile = 64},
};

bool allowsHalves(const StreamPlan &plan) {
  bool some = false;
  for (auto [i, operand] : llvm::enumerate(plan.streamed)) {
    if (!tile::elementType(operand.element).isSplit)
      continue;
    if (isScoreOperand(plan, i) || operand.isComputed() || !isRoundedSum(operand.read))
      return false;
    some = true;
  }
  return some;
}

static bool splitsOperands(const StreamPlan &plan) {
  return llvm::any_of(plan.streamed, [](const OperandTile &operand) {
    return tile::elementType(operand.element).isSplit;
  });
}

// True if the nest folds something for each row and stream index.
static bool makesScores(red::NestOp nest) {
  auto hasAll = [](attn::ArrayType type, ArrayAttr dims) {
    return llvm::all_of(dims.getAsRange<StringAttr>(),
                        [&](StringAttr dim) { return type.hasDim(dim); });
  };
  return !nest.getRow().empty() &&
         llvm::any_of(nest.getBodyBlock()->getOps<red::FoldOp>(), [&](red::FoldOp fold) {
           return hasAll(fold.getType(), nest.getRow()) && hasAll(fold.getType(), nest.getStream());
         });
}

// True if nests that make scores have the rows side by side: they are heads.
static bool hasRowsOfHeads(red::NestOp nest, const StreamPlan &plan) {
  auto nests = attn::programOf(nest).getBodyBlock()->getOps<red::NestOp>();
  return plan.contractions.empty() && llvm::any_of(nests, [&](red::NestOp other) {
           return llvm::is_contained(other.getGrid(), plan.row) && makesScores(other);
         });
}

static bool hasFewRows(red::NestOp nest, const StreamPlan &plan) {
  attn::DimAttr row = attn::programOf(nest).lookupDim(plan.row);
  return row.isStatic() ? row.getExtent() <= kFewRows : hasRowsOfHeads(nest, plan);
}

// True if what the nest reads along its stream has the rows on the last axis.
static bool rowsLieSideBySide(red::NestOp nest, const StreamPlan &plan) {
  bool reads = false;
  for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
    size_t rank = tensorOf(read.getSource()).dims.size();
    if (rank < 2 || !read.getType().hasDim(plan.stream))
      continue;
    if (read.subscriptDim(rank - 1) == plan.row)
      reads = true;
    else if (read.getType().hasDim(plan.row))
      return false;
  }
  return reads;
}

// True if weights are read, not computed: they are what such a nest waits for.
static bool readsWeights(const StreamPlan &plan) {
  return plan.hasProducts() && plan.contractions.empty();
}

static bool copiesWeights(red::NestOp nest, const StreamPlan &plan, PortableSchedule schedule) {
  schedule.copyInputs = readsWeights(plan);
  return llvm::any_of(stagedInputs(nest, plan, schedule),
                      [](const StagedInput &input) { return input.rowAxis; });
}

// True if threads compute products of a few elements each, with as few terms, in less time than a
// warp takes for tiles of them. Measured of 6144 products of 4 x 3 by 3 x 3: 2 us, by tiles 17
// (H200, not recorded).
bool isTiny(red::NestOp nest, const StreamPlan &plan) {
  int64_t terms = widestColumns(plan);
  for (StringAttr dim : {plan.row, plan.stream}) {
    attn::DimAttr declared = attn::programOf(nest).lookupDim(dim);
    terms *= declared.isStatic() ? declared.getExtent() : kTinyTerms + 1;
  }
  return readsWeights(plan) && terms <= kTinyTerms &&
         llvm::none_of(nest.states(), [](red::FoldOp state) { return bool(state.getReference()); });
}

static std::vector<PortableSchedule> matrixCandidates(red::NestOp nest, const StreamPlan &plan) {
  attn::ProgramOp program = attn::programOf(nest);
  attn::DimAttr row = program.lookupDim(plan.row), stream = program.lookupDim(plan.stream);
  auto isTiled = [](attn::DimAttr dim, int64_t tile) {
    return !dim.isStatic() || dim.getExtent() >= tile;
  };
  std::vector<PortableSchedule> all;
  if (!readsWeights(plan) || !plan.pairs.empty() || !stream.isStatic() || allowsHalves(plan) ||
      llvm::any_of(plan.streamed, [](const OperandTile &o) { return o.isComputed(); }))
    return all;
  for (PortableSchedule candidate : kMatrixCandidates)
    if (isTiled(row, candidate.rowTile) && isTiled(stream, candidate.streamTile)) {
      int64_t columns = widestColumns(plan);
      candidate.headDimTile =
          columns > candidate.headDimTile ? evenColumns(columns, candidate.headDimTile) : 0;
      candidate.copyInputs = copiesWeights(nest, plan, candidate);
      all.push_back(candidate);
    }
  return all;
}

static std::vector<PortableSchedule> plainCandidates(red::NestOp nest, const StreamPlan &plan) {
  attn::DimAttr row = attn::programOf(nest).lookupDim(plan.row);
  attn::DimAttr stream = attn::programOf(nest).lookupDim(plan.stream);
  bool isFew = hasFewRows(nest, plan);
  // More rows than a tile has, each with a part of the stream: small tiles read what theirs need.
  bool manyHaveParts = rowsHaveParts(nest) && row.isStatic() && row.getExtent() > kMostRows;
  // What is computed of the stream is computed by each block. Scores of 16 rows fit the small
  // tiles.
  bool computes =
      llvm::any_of(plan.streamed, [](const OperandTile &operand) { return operand.isComputed(); });
  bool takesWholeRows = isFew && plan.hasProducts() && !manyHaveParts &&
                        (computes || !stream.isStatic()) &&
                        (readsWeights(plan) || row.getExtent() > 16);
  std::vector<PortableSchedule> all;
  if (plan.hasProducts() && !isFew && allowsHalves(plan))
    all.assign(std::begin(kHalvesCandidates), std::end(kHalvesCandidates));
  if (plan.hasProducts() && !isFew && splitsOperands(plan) && stream.isStatic() &&
      stream.getExtent() <= kOfOneTile.streamTile)
    all.push_back(kOfOneTile);
  if (plan.hasProducts() && !isFew)
    llvm::append_range(all, kCandidates);
  if (!plan.pairs.empty() && !plan.direct.empty())
    all.insert(all.begin(), kSlowPairs);
  else if (takesWholeRows) {
    int64_t rows = row.isStatic() ? row.getExtent() : kUsualHeads;
    all = candidatesOfWholeRows(rows);
    if (rows <= kOfWideColumns.rowTile && widestColumns(plan) >= kWideColumns &&
        splitsOperands(plan)) {
      all.insert(all.begin(), kOfWideColumns);
      all.front().headDimTile = evenColumns(widestColumns(plan), widestColumns(plan) / 2);
    }
  }
  for (PortableSchedule &candidate : all)
    candidate.copyInputs = copiesWeights(nest, plan, candidate);
  if (!plan.hasProducts() && rowsLieSideBySide(nest, plan) &&
      row.getExtent() >= kSideBySide.rowTile)
    all.push_back(kSideBySide);
  for (PortableSchedule candidate : kSmallCandidates) {
    if (!plan.hasProducts()) // nothing of it is in shared memory
      candidate.minBlocks = kUsualWarps;
    if (!plan.hasProducts() || isFew)
      all.push_back(candidate);
  }
  return all;
}

static std::vector<PortableSchedule> sharingCandidates(red::NestOp nest, const StreamPlan &plan) {
  std::vector<PortableSchedule> all;
  int64_t columns = widestColumns(plan);
  if (columns <= kOwnColumns || hasFewRows(nest, plan))
    return all;
  for (PortableSchedule candidate : kSharingCandidates)
    for (int64_t multiple : kColumnMultiples) {
      int64_t part = llvm::alignTo(llvm::divideCeil(columns, candidate.columnWarps), multiple);
      bool wastes = kMostWaste * (part * candidate.columnWarps - columns) > columns;
      if (part == candidate.headDimTile || (wastes && multiple != kColumnMultiples.back()))
        continue;
      candidate.headDimTile = candidate.depth = part;
      all.push_back(candidate);
    }
  return all;
}

std::vector<PortableSchedule> portableCandidates(red::NestOp nest, const StreamPlan &plan) {
  std::vector<PortableSchedule> all = matrixCandidates(nest, plan);
  llvm::append_range(all, sharingCandidates(nest, plan));
  auto together = decidedTogether(nest);
  auto knows = [&](const PortableSchedule &s) {
    return together && together->fills(s.rowTile, s.streamTile);
  };
  if (knows(kOfDecidedRows) && plan.hasProducts())
    all.push_back(kOfDecidedRows);
  llvm::append_range(all, plainCandidates(nest, plan));
  int64_t columns = widestColumns(plan), depth = chooseDepth(widestDepth(plan));
  for (int64_t most : kMostColumns)
    for (PortableSchedule candidate : kCutCandidates) {
      candidate.headDimTile = columns > most ? evenColumns(columns, most) : 0;
      candidate.depth = depth;
      if (candidate.headDimTile || candidate.depth)
        all.push_back(candidate);
    }
  if (llvm::any_of(all, knows))
    llvm::erase_if(all, [&](const PortableSchedule &s) { return !knows(s); });
  return all;
}

ArrayRef<PortableSchedule> usualTiles() { return kCandidates; }

} // namespace attnc::schedule
