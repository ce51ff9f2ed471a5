#include "compiler/schedule/threads/rows_plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

// What a kernel may declare without asking (CUDA programming guide, shared memory).
static constexpr int64_t kSharedBytes = 48 * 1024;
// Registers of a thread for elements of states; the rest is for addresses and numbers.
static constexpr int64_t kStateRegisters = 64;
static constexpr int64_t kElementBytes = 4, kWarp = 32;
// Where operands are the same for several rows, so many are read once.
static constexpr int64_t kSharedRows = 4;
// Rows, and columns, whose scalars a thread folds together.
static constexpr int64_t kScalarsTogether = 4;
// Of a block whose states have few elements.
static constexpr int64_t kThreads = 128, kMostRows = 32;

int64_t rowsTogether(const RowsGroup &group, const RowsSchedule &schedule) {
  if (group.dividesRows)
    return 1;
  int64_t together = 1;
  while (together < kSharedRows && schedule.rows % (2 * together) == 0 &&
         group.elements * schedule.rows >= 2 * together * kThreads)
    together *= 2;
  return together;
}

int64_t itemsOf(const RowsGroup &group, const RowsSchedule &schedule) {
  return group.elements * (schedule.rows / rowsTogether(group, schedule));
}

SmallVector<GroupThreads> groupThreads(const RowsPlan &plan, const RowsSchedule &schedule) {
  SmallVector<GroupThreads> threads;
  int64_t first = 0;
  for (const RowsGroup &group : plan.groups) {
    int64_t count = llvm::alignTo(itemsOf(group, schedule), kWarp);
    threads.push_back({first, std::min(count, schedule.threads)});
    first += count;
  }
  if (first > schedule.threads)
    for (GroupThreads &group : threads)
      group.first = 0;
  return threads;
}

int64_t stateRegisters(const RowsPlan &plan, const RowsSchedule &schedule) {
  SmallVector<GroupThreads> threads = groupThreads(plan, schedule);
  bool together = llvm::any_of(llvm::drop_begin(threads),
                               [](const GroupThreads &group) { return group.first == 0; });
  int64_t most = 0, sum = 0;
  for (auto [group, range] : llvm::zip(plan.groups, threads)) {
    int64_t here = llvm::divideCeil(itemsOf(group, schedule), range.count) * group.states.size() *
                   rowsTogether(group, schedule);
    most = std::max(most, here);
    sum += here;
  }
  return together ? sum : most;
}

std::pair<int64_t, int64_t> scalarsTogether(const RowsPlan &plan, const RowsSchedule &schedule) {
  int64_t rows = 1, columns = 1;
  auto grow = [&](int64_t &extent, int64_t of) {
    bool keepsThreadsBusy =
        schedule.rows * schedule.streamTile >= 2 * rows * columns * schedule.threads;
    if (extent < kScalarsTogether && of % (2 * extent) == 0 && keepsThreadsBusy)
      extent *= 2;
  };
  for (int64_t n = 1; plan.foldsTogether && n < kScalarsTogether; n *= 2) {
    grow(rows, schedule.rows);
    grow(columns, schedule.streamTile);
  }
  return {rows, columns};
}

// Several rows of a column are still read at once.
int64_t rowStride(const RowsSchedule &schedule) {
  return schedule.rows + (schedule.rows > kSharedRows ? kSharedRows : 0);
}

static int64_t sharedBytes(const RowsPlan &plan, const RowsSchedule &schedule) {
  int64_t perRow = 2 * plan.plain.size();
  for (const RowsGroup &group : plan.groups)
    perRow += group.elements * group.states.size();
  // Booleans and integers among the scalars are counted as if they were as long as the longest.
  int64_t bytes = kElementBytes;
  for (Value scalar : plan.scalars)
    if (cast<attn::ArrayType>(scalar.getType()).getElementType().isInteger(64))
      bytes = 8;
  int64_t perTile = plan.sharedPerElement() * schedule.streamTile * rowStride(schedule);
  return (perTile + perRow * schedule.rows) * bytes;
}

std::string checkRows(const RowsPlan &plan, const RowsSchedule &s) {
  if (std::string why = s.check(); !why.empty())
    return why;
  if (s.rows > 1 && !plan.row)
    return llvm::formatv("rows is {0}; the nest has no dim of which a block can have several",
                         s.rows);
  if (int64_t bytes = sharedBytes(plan, s); bytes > kSharedBytes)
    return llvm::formatv(
        "rows {0} with stream_tile {1} needs {2} KB of shared memory, and a kernel "
        "has {3} without asking",
        s.rows, s.streamTile, (bytes + 1023) / 1024, kSharedBytes / 1024);
  if (int64_t registers = stateRegisters(plan, s); registers > kStateRegisters)
    return llvm::formatv("rows {0} with {1} threads has {2} elements of states a thread, and {3} "
                         "is the most",
                         s.rows, s.threads, registers, kStateRegisters);
  return "";
}

// Threads for all elements of states where there are not too many, and indices of the stream for
// two turns of all threads, or one where they compute several points together.
static RowsSchedule scheduleFor(const RowsPlan &plan, int64_t rows, int64_t extent) {
  RowsSchedule schedule;
  schedule.rows = rows;
  int64_t wanted = 0;
  for (const RowsGroup &group : plan.groups) {
    int64_t each = group.dividesRows ? 1 : std::min(rows, kSharedRows);
    wanted += llvm::alignTo(llvm::divideCeil(group.elements * rows, each), kWarp);
  }
  schedule.threads = wanted > 512 ? 256 : std::max(wanted, kThreads);
  int64_t points = plan.foldsTogether ? kScalarsTogether * std::min(rows, kScalarsTogether) : 2;
  schedule.streamTile = std::clamp<int64_t>(points * schedule.threads / rows / 8 * 8, 16, 256);
  if (extent)
    schedule.streamTile = std::min<int64_t>(schedule.streamTile, llvm::alignTo(extent, 8));
  return schedule;
}

std::optional<RowsSchedule> chooseRows(red::NestOp nest, const RowsPlan &plan, std::string &why) {
  attn::DimAttr stream = attn::programOf(nest).lookupDim(plan.stream);
  int64_t extent = stream.isStatic() ? stream.getExtent() : 0;
  int64_t rows = 1;
  if (plan.row) {
    int64_t elements = 0;
    bool shares = false;
    for (const RowsGroup &group : plan.groups) {
      elements += group.elements;
      shares |= !group.dividesRows;
    }
    // As many as fill a block of few threads.
    int64_t fitting =
        elements ? llvm::bit_floor<uint64_t>(std::max(kThreads / elements, int64_t(1))) : 1;
    // Without a row dim there are as few rows as grid cells.
    int64_t most = nest.getRow().empty() ? kSharedRows : kMostRows;
    rows = elements ? std::min(most, shares ? kSharedRows * fitting : fitting) : kSharedRows;
    attn::DimAttr dim = attn::programOf(nest).lookupDim(plan.row);
    if (dim.isStatic())
      rows = std::min(rows, dim.getExtent());
  }
  for (; rows; rows /= 2) {
    RowsSchedule schedule = scheduleFor(plan, rows, extent);
    for (; schedule.streamTile >= 8; schedule.streamTile /= 2)
      if (why = checkRows(plan, schedule); why.empty())
        return schedule;
    schedule = scheduleFor(plan, rows, extent);
    schedule.threads = 1024;
    if (why = checkRows(plan, schedule); why.empty())
      return schedule;
  }
  return std::nullopt;
}

std::vector<RowsSchedule> rowsCandidates(red::NestOp nest, const RowsPlan &plan) {
  std::string why;
  std::optional<RowsSchedule> own = chooseRows(nest, plan, why);
  if (!own)
    return {};
  std::vector<RowsSchedule> all = {*own};
  auto add = [&](const RowsSchedule &schedule) {
    bool isNew = llvm::none_of(all, [&](const RowsSchedule &other) {
      return other.rows == schedule.rows && other.streamTile == schedule.streamTile;
    });
    if (isNew && checkRows(plan, schedule).empty())
      all.push_back(schedule);
  };
  attn::DimAttr stream = attn::programOf(nest).lookupDim(plan.stream);
  for (int64_t rows : {1, 2, 4, 8, 16})
    add(scheduleFor(plan, rows, stream.isStatic() ? stream.getExtent() : 0));
  for (int64_t tile : {own->streamTile / 2, own->streamTile * 2}) {
    RowsSchedule schedule = *own;
    schedule.streamTile = tile;
    add(schedule);
  }
  return all;
}

} // namespace attnc::schedule
