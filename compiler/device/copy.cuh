// Copies between global memory and shared tiles by all threads of a block.
#pragma once
#include "attnc/smem.cuh"

namespace attnc {

/// Where the source of a copy is: in global memory, or in the block's shared memory, from which a
/// copy is complete when it returns.
enum class Source { Global, Shared };

/// Starts a copy of kBytes (16, 8 or 4; both addresses aligned to it), or of zeros if !valid.
template <int kBytes, Source kSource = Source::Global>
ATTNC_DEVICE void copyAsync(u32 to, const void *from, bool valid) {
  if constexpr (kSource == Source::Shared) {
    if constexpr (kBytes == 16)
      storeShared16(to, valid ? *static_cast<const uint4 *>(from) : uint4{});
    else if constexpr (kBytes == 8) {
      const uint2 x = valid ? *static_cast<const uint2 *>(from) : uint2{};
      storeShared8(to, x.x, x.y);
    } else
      storeShared(to, valid ? *static_cast<const u32 *>(from) : 0u);
    return;
  }
  const u32 bytes = valid ? kBytes : 0;
  const u64 global = __cvta_generic_to_global(from);
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                 "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global),
                 "n"(kBytes), "r"(bytes)
                 : "memory");
}

/// Closes the group of copies started since the last commit.
ATTNC_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most kPending of this thread's latest groups are unfinished. A barrier must
/// follow before other threads' copies may be read.
template <int kPending> ATTNC_DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// One store of kBytes (16, 8, 4 or 2), both addresses aligned to it.
template <int kBytes> ATTNC_DEVICE void moveFromShared(void *to, u32 from) {
  if constexpr (kBytes == 16)
    *static_cast<uint4 *>(to) = loadShared16(from);
  else if constexpr (kBytes == 8)
    *static_cast<uint2 *>(to) = loadShared8(from);
  else if constexpr (kBytes == 4)
    *static_cast<u32 *>(to) = loadShared(from);
  else
    *static_cast<u16 *>(to) = loadShared2(from);
}

/// copyTile of a tile of one row, which has no swizzle.
template <int kThreads, int kVectorBytes, Source kSource = Source::Global, class T, int kCols>
ATTNC_DEVICE void copyRow(SharedTile<T, 1, kCols> tile, const T *from, i32 cols) {
  static_assert(kVectorBytes >= 4 && kCols == SharedTile<T, 1, kCols>::kWidth);
  constexpr u32 kVector = kVectorBytes / sizeof(T);
#pragma unroll
  for (u32 c = threadIdx.x * kVector; c < kCols; c += kThreads * kVector)
    copyAsync<kVectorBytes, kSource>(tile.base + c * sizeof(T), from + c, static_cast<i32>(c) < cols);
}

/// Starts the copy of a tile: row r of `tile` from `from + r * rowStride`; rows from `rows` on, and
/// columns beyond Tile::kCols, become zero and are not read. All kThreads threads of the block take
/// part. kVectorBytes says what alignment every row start has; 16 is the fast one, and 2 (a 16-bit
/// element) copies through registers and is complete when it returns. Columns from `cols` on become
/// zero and are not read either; it is such a multiple, too. The columns go on in the kTiles - 1
/// tiles that follow, which have no padding.
template <int kThreads, int kVectorBytes = 16, int kTiles = 1, Source kSource = Source::Global,
          class T, int kRows, int kCols>
ATTNC_DEVICE void copyTile(SharedTile<T, kRows, kCols> tile, const T *from, i64 rowStride, i32 rows,
                           i32 cols = kAllColumns) {
  using Tile = SharedTile<T, kRows, kCols>;
  constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(T));
  static_assert(kTiles == 1 || kCols == Tile::kWidth);
  // A thread keeps its column while it walks down the rows, so its addresses advance by constants.
  // Of few rows threads take more pieces side by side, so that more of them have one.
  constexpr int kUsual = 128 / kVectorBytes, kLeast = kThreads / kRows;
  constexpr int kWished = kUsual > kLeast ? kUsual : kLeast;
  constexpr int kAcross = gcd(Tile::kWidth / kVector, kWished < kThreads ? kWished : kThreads);
  constexpr int kDown = kThreads / kAcross;
  static_assert(kDown > 0);
  const int thread = threadIndex();
  const int row0 = thread / kAcross;
  const int col0 = thread % kAcross * kVector;
  const T *line = from + row0 * rowStride + col0;
  const u32 to = tile.at(row0, col0);
#pragma unroll
  for (int r = 0; r < kRows; r += kDown, line += kDown * rowStride) {
    if (kRows % kDown != 0 && row0 + r >= kRows)
      break;
#pragma unroll
    for (int c = 0; c < kTiles * Tile::kWidth; c += kAcross * kVector) {
      const bool valid = row0 + r < rows && (kCols == Tile::kWidth || col0 + c < kCols) &&
                         (cols == kAllColumns || col0 + c < cols);
      // Where the swizzle repeats with the steps, the address advances by a constant too.
      constexpr bool kPeriodic =
          kAcross * kVectorBytes % (16 * Tile::kPeriod) == 0 && kDown % 8 == 0;
      const int skipped = c / Tile::kWidth, at = c % Tile::kWidth;
      const u32 address = (kPeriodic ? to + r * Tile::kRowBytes + at * static_cast<int>(sizeof(T))
                                     : tile.at(row0 + r, col0 + at)) +
                          skipped * Tile::kBytes;
      if constexpr (kVectorBytes >= 4)
        copyAsync<kVectorBytes, kSource>(address, line + c, valid);
      else
        storeShared2(address, valid ? line[c].bits : u16(0));
    }
  }
}

/// Starts the copy of kRows rows of a tile from `first` on by one warp, at most 32: its lane r says
/// where row `first + r` begins, or not `valid`: that row becomes zero and is not read. kVectorBytes
/// is as in copyTile.
template <int kVectorBytes, int kRows, Source kSource = Source::Global, class Tile, class T>
ATTNC_DEVICE void copyRows(Tile tile, int first, const T *line, bool valid) {
  constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(T));
  constexpr int kPieces = Tile::kWidth / kVector, kAll = kRows * kPieces;
  // The compiler keeps shuffles and copies in their order: one at a time each would wait for the
  // other.
  constexpr int kBeside = 4;
  static_assert(kRows <= kWarp);
  const u64 mine = valid ? reinterpret_cast<u64>(line) : 0;
#pragma unroll
  for (int begin = 0; begin < kAll; begin += kBeside * kWarp) {
    u64 lines[kBeside];
#pragma unroll
    for (int i = 0; i < kBeside && begin + i * kWarp < kAll; ++i)
      lines[i] = __shfl_sync(~0u, mine, (begin + i * kWarp + lane()) / kPieces);
#pragma unroll
    for (int i = 0; i < kBeside && begin + i * kWarp < kAll; ++i) {
      const int n = begin + i * kWarp + lane();
      const int row = first + n / kPieces, col = n % kPieces * kVector;
      if ((kAll % kWarp != 0 && n >= kAll) || (Tile::kRows % kRows != 0 && row >= Tile::kRows))
        continue;
      const bool exists = lines[i] && (Tile::kCols == Tile::kWidth || col < Tile::kCols);
      const T *from = reinterpret_cast<const T *>(lines[i]) + col;
      if constexpr (kVectorBytes >= 4)
        copyAsync<kVectorBytes, kSource>(tile.at(row, col), from, exists);
      else
        storeShared2(tile.at(row, col), exists ? from->bits : u16(0));
    }
  }
}

/// Writes the rows < `rows` of a tile to global memory. kVectorBytes says what alignment every row
/// start has, as in copyTile; kCols is a multiple of it. Of each row the columns < `cols`. The
/// caller places the barrier before it.
template <int kThreads, int kVectorBytes = 16, class T, int kRows, int kCols>
ATTNC_DEVICE void storeTile(T *to, i64 rowStride, SharedTile<T, kRows, kCols> tile, i32 rows,
                            i32 cols = kAllColumns) {
  constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(T));
  constexpr int kPieces = kCols / kVector;
  constexpr int kAll = kRows * kPieces;
#pragma unroll 4
  for (int first = 0; first < kAll; first += kThreads) {
    const int i = first + threadIndex();
    if (kAll % kThreads != 0 && i >= kAll)
      break;
    const int row = i / kPieces;
    const int col = i % kPieces * kVector;
    if (row < rows && (cols == kAllColumns || col < cols))
      moveFromShared<kVectorBytes>(to + row * rowStride + col, tile.at(row, col));
  }
}

} // namespace attnc
