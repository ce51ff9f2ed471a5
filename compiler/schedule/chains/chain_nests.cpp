#include "compiler/schedule/chains/chain_nests.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/portable/stream_inputs.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/schedule/threads/generic_points.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc::schedule {

// A block of a chain: up to four warps with 16 rows each, and as many that have the other half of
// the columns.
static constexpr int64_t kWarpRows = 16, kRows = 4 * kWarpRows, kColumnGroups = 2;
// Elements of the stream, and of the inner dims (columns and the depth of scores), with which a
// nest is still little work for one block.
static constexpr int64_t kMostStream = 256, kMostInner = 256 * 256;
// Elements that a thread computes or folds.
static constexpr int64_t kMostTurns = 1024;

// Where a schedule is from that was chosen for a chain, and what is said of one that is in none.
static constexpr llvm::StringLiteral
    kForChain = "the compiler: a launch computes several nests, and each block all of a cell",
    kWithoutChain = "the compiler: for a launch of several nests, of which others have been given "
                    "schedules that keep them out of it";

static SmallVector<StringAttr> gridDims(red::NestOp nest) {
  return llvm::to_vector(nest.getGrid().getAsRange<StringAttr>());
}

// The product of the extents, if all are known.
static std::optional<int64_t> knownExtent(red::NestOp nest, ArrayRef<StringAttr> dims) {
  int64_t product = 1;
  for (StringAttr dim : dims) {
    attn::DimAttr declared = attn::programOf(nest).lookupDim(dim);
    if (!declared.isStatic())
      return std::nullopt;
    product *= declared.getExtent();
  }
  return product;
}

static std::optional<int64_t> knownExtent(red::NestOp nest, ArrayAttr dims) {
  return knownExtent(nest, llvm::to_vector(dims.getAsRange<StringAttr>()));
}

static bool isAtMost(std::optional<int64_t> extent, int64_t most) {
  return extent && *extent <= most;
}

// True if a cell is little work for one block.
static bool isSmall(red::NestOp nest) {
  return isAtMost(knownExtent(nest, nest.getStream()), kMostStream) &&
         isAtMost(knownExtent(nest, nest.getInner()), kMostInner);
}

SmallVector<StringAttr> cellDims(red::NestOp nest) {
  if (auto generic = tile::scheduleAs<tile::GenericSchedule>(nest.getScheduleAttr())) {
    SmallVector<StringAttr> dims = pointDims(nest);
    dims.truncate(generic->cellDims);
    return dims;
  }
  auto tiles = tile::scheduleAs<PortableSchedule>(nest.getScheduleAttr());
  bool isWhole = tiles && !tiles->columnWarps && (tiles->columnGroups || !tiles->headDimTile) &&
                 !nest.getRow().empty() &&
                 isAtMost(knownExtent(nest, nest.getRow()), tiles->rowTile);
  return isWhole ? gridDims(nest) : SmallVector<StringAttr>();
}

static int64_t threadsOf(red::NestOp nest) {
  if (auto generic = tile::scheduleAs<tile::GenericSchedule>(nest.getScheduleAttr()))
    return generic->threads;
  auto tiles = tile::scheduleAs<PortableSchedule>(nest.getScheduleAttr());
  return tiles ? 32 * tiles->warps : 0;
}

// True if the nest reads of the others' results only what a block with the same cell has stored.
static bool staysInCell(red::NestOp nest, ArrayRef<red::NestOp> others, ArrayRef<StringAttr> cell) {
  bool stays = true;
  nest.walk([&](attn::ReadOp read) {
    auto source = read.getSource().getDefiningOp<red::NestOp>();
    if (!source || !llvm::is_contained(others, source))
      return;
    for (auto [axis, dim] : llvm::enumerate(tensorOf(read.getSource()).dims))
      stays &= !llvm::is_contained(cell, dim) || read.subscriptDim(axis) == dim;
  });
  return stays;
}

// True if an element of each result belongs to one cell.
static bool hasCell(red::NestOp nest, ArrayRef<StringAttr> cell) {
  return llvm::all_of(nest.getResults(), [&](Value result) {
    return !packOf(result) && llvm::all_of(cell, [&](StringAttr dim) {
      return cast<attn::ArrayType>(result.getType()).hasDim(dim);
    });
  });
}

//===--- schedules --------------------------------------------------------------------------===//

// All rows in a tile, of so many warps, or as many as there are to be for these rows (0); or null.
static red::Schedule tileSchedule(PlannedNest &planned, int64_t warps, const GpuModel &machine) {
  red::NestOp nest = planned.op();
  if (!planned.stream() || nest.getRow().empty() ||
      !isAtMost(knownExtent(nest, nest.getRow()), kRows) || !isSmall(nest))
    return {};
  int64_t rows = *knownExtent(nest, nest.getRow());
  int64_t rowWarps = llvm::PowerOf2Ceil(llvm::divideCeil(rows, kWarpRows));
  warps = warps ? warps : rowWarps * kColumnGroups;
  if (warps <= rowWarps)
    return {};
  int64_t groups = warps / rowWarps, columns = widestColumns(*planned.stream());
  int64_t part = llvm::alignTo(llvm::divideCeil(columns, groups), 16);
  PortableSchedule schedule{.rowTile = rowWarps * kWarpRows, .warps = warps, .stages = 2};
  schedule.columnGroups = groups;
  schedule.headDimTile = part < columns ? part : 0;
  schedule.copyInputs = planned.stream()->hasProducts() && planned.stream()->contractions.empty();
  int64_t stream = *knownExtent(nest, nest.getStream());
  for (int64_t streamTile : {64, 32, 16})
    for (int64_t blocks : {2, 1}) {
      if (streamTile > 16 && streamTile / 2 >= stream) // no more than zeros in the second half
        continue;
      schedule.minBlocks = blocks;
      schedule.streamTile = streamTile;
      if (checkSchedule(nest, *planned.stream(), schedule, machine).empty())
        return tile::PortableAttr::get(nest.getContext(), schedule);
    }
  return {};
}

// The elements of a cell by its threads in turn, or null.
static red::Schedule pointSchedule(red::NestOp nest, ArrayRef<StringAttr> cell, int64_t threads) {
  SmallVector<StringAttr> dims = pointDims(nest);
  if (dims.size() < cell.size() || ArrayRef(dims).take_front(cell.size()) != cell)
    return {};
  std::optional<int64_t> points = knownExtent(nest, ArrayRef(dims).drop_front(cell.size()));
  std::optional<int64_t> folded = knownExtent(nest, nest.getStream());
  std::optional<int64_t> inner = knownExtent(nest, nest.getInner());
  if (!points || !folded || !inner ||
      llvm::divideCeil(*points, threads) * *folded * *inner > kMostTurns)
    return {};
  return tile::GenericAttr::get(
      nest.getContext(), {.threads = threads, .cellDims = static_cast<int64_t>(cell.size())});
}

namespace {

/// A chain while it is found.
struct Chain {
  SmallVector<StringAttr> cell;
  SmallVector<red::NestOp> nests;
  SmallVector<red::Schedule> schedules;
  int64_t threads = 0; // of the block
  size_t products = 0; // nests that multiply matrices which are worth tiles

  bool add(red::NestOp nest, const GpuModel &machine) {
    if (nest->hasAttr(kScheduleSourceAttr))
      return false;
    PlannedNest planned(nest);
    SmallVector<StringAttr> grid = gridDims(nest);
    red::Schedule schedule;
    if (nests.empty() || grid == cell)
      schedule = tileSchedule(planned, threads / 32, machine);
    if (nests.empty() && schedule) {
      cell = grid;
      threads = 32 * tile::scheduleAs<PortableSchedule>(schedule)->warps;
    }
    if (!schedule && !nests.empty())
      schedule = pointSchedule(nest, cell, threads);
    if (!schedule || cell.empty() || !hasCell(nest, cell) || !staysInCell(nest, nests, cell))
      return false;
    nests.push_back(nest);
    schedules.push_back(schedule);
    products += planned.stream() && planned.stream()->hasProducts() && hasTiles(nest);
    return true;
  }

  void take() {
    if (nests.size() < 2 || 2 * products < nests.size())
      return;
    for (auto [nest, schedule] : llvm::zip(nests, schedules)) {
      nest.setScheduleAttr(schedule);
      nest->setAttr(kScheduleSourceAttr, StringAttr::get(nest.getContext(), kForChain));
    }
  }
};

} // namespace

void proposeChains(ArrayRef<red::NestOp> nests, const GpuModel &machine) {
  Chain chain;
  for (red::NestOp nest : nests) {
    if (chain.add(nest, machine))
      continue;
    chain.take();
    chain = {};
    chain.add(nest, machine);
  }
  chain.take();
}

void markChains(ArrayRef<red::NestOp> nests) {
  int64_t number = 0;
  SmallVector<red::NestOp> chain;
  auto mark = [&] {
    for (red::NestOp nest : chain)
      if (chain.size() > 1)
        nest->setAttr(kChainAttr, Builder(nest.getContext()).getI64IntegerAttr(number));
    number += chain.size() > 1;
    chain.clear();
  };
  for (red::NestOp nest : nests) {
    nest->removeAttr(kChainAttr);
    SmallVector<StringAttr> cell = cellDims(nest);
    bool fits = !cell.empty() && hasCell(nest, cell) && isSmall(nest);
    if (!chain.empty() &&
        (!fits || cell != cellDims(chain.front()) || threadsOf(nest) != threadsOf(chain.front()) ||
         !staysInCell(nest, chain, cell)))
      mark();
    if (fits)
      chain.push_back(nest);
  }
  mark();
  for (red::NestOp nest : nests) {
    auto source = nest->getAttrOfType<StringAttr>(kScheduleSourceAttr);
    if (source && source == kForChain && !nest->hasAttr(kChainAttr))
      nest->setAttr(kScheduleSourceAttr, StringAttr::get(nest.getContext(), kWithoutChain));
  }
}

} // namespace attnc::schedule
