// Tiles that one thread copies into shared memory, or that several warps write there, and that
// other warps use: a ring of slots, each with a barrier that says "full" and one that says "free".
// Tiles are numbered from 0 in the order in which they are filled; tile n takes slot n % kStages.
#pragma once
#include "attnc/barrier.cuh"
#include "attnc/panel.cuh"

namespace attnc {

/// A CUtensorMap, which the host encodes.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

/// Fetches the map itself, before the first copy needs it.
ATTNC_DEVICE void prefetchMap(const TensorMap &map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Copies the box of `map` at the given coordinates, innermost first, to shared memory; elements
/// outside the tensor become 0. `barrier` counts the box's bytes when they have arrived.
ATTNC_DEVICE void copyBox(u32 to, const TensorMap &map, u32 barrier, i32 x, i32 y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
               "[%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(x), "r"(y)
               : "memory");
}
ATTNC_DEVICE void copyBox(u32 to, const TensorMap &map, u32 barrier, i32 x, i32 y, i32 z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
               "[%1, {%3, %4, %5}], [%2];" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
               : "memory");
}
ATTNC_DEVICE void copyBox(u32 to, const TensorMap &map, u32 barrier, i32 x, i32 y, i32 z, i32 w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
               "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
ATTNC_DEVICE void copyBox(u32 to, const TensorMap &map, u32 barrier, i32 x, i32 y, i32 z, i32 w,
                          i32 v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
               "[%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
               "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v)
               : "memory");
}

/// Copies contiguous elements of global memory, 16-byte aligned and a multiple of 16 bytes.
ATTNC_DEVICE void copyBytes(u32 to, const void *from, int bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
               "[%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
               : "memory");
}

/// The number of a tile whose slot the compiler knows: kStages * round + kSlot.
template <int kSlot> struct InSlot {
  u32 round;
};
template <int kSlot> ATTNC_DEVICE InSlot<kSlot> inSlot(i32 round) {
  return {static_cast<u32>(round)};
}

template <class TileType, int kStages, int kSlotBytes = TileType::kBytes> struct Pipe {
  using Tile = TileType;
  u32 base;     ///< of the slots; a multiple of 1024
  u32 barriers; ///< kStages "full" ones, then kStages "free" ones

  // Numbers are integers or InSlot.
  static ATTNC_DEVICE u32 slot(u32 n) { return n % kStages; }
  static ATTNC_DEVICE u32 parity(u32 n) { return n / kStages % 2; }
  template <int kSlot> static ATTNC_DEVICE u32 slot(InSlot<kSlot>) { return kSlot; }
  template <int kSlot> static ATTNC_DEVICE u32 parity(InSlot<kSlot> n) { return n.round % 2; }
  template <class Number> ATTNC_DEVICE u32 full(Number n) const { return barriers + 8 * slot(n); }
  template <class Number> ATTNC_DEVICE u32 free(Number n) const {
    return barriers + 8 * (kStages + slot(n));
  }

  /// One thread, before any use: `users` warps release each tile, and `writers` warps complete it,
  /// or none if copies do.
  ATTNC_DEVICE void start(int users, int writers = 0) const {
#pragma unroll
    for (int s = 0; s < kStages; ++s) {
      initBarrier(full(s), writers == 0 ? 1 : writers);
      initBarrier(free(s), users);
    }
  }

  // The thread that copies, or the warps that write.

  /// Waits until the slot of tile n is free.
  template <class Number> ATTNC_DEVICE void acquire(Number n) const {
    awaitBarrier(free(n), parity(n) ^ 1);
  }
  /// Starts the copies of tile n, a panel at a time, from the map's box at column 0 and the given
  /// further coordinates.
  template <class Number, class... Coordinates>
  ATTNC_DEVICE void fill(Number n, const TensorMap &map, Coordinates... at) const {
    fillFrom(n, map, 0, at...);
  }
  /// The same from a column on, a multiple of 8.
  template <class Number, class... Coordinates>
  ATTNC_DEVICE void fillFrom(Number n, const TensorMap &map, i32 column, Coordinates... at) const {
    arriveExpecting(full(n), Tile::kBytes);
#pragma unroll
    for (int p = 0; p < Tile::kPanels; ++p)
      copyBox((*this)[n].base + p * Tile::kPanelBytes, map, full(n), column + p * Tile::kPanelCols,
              at...);
  }
  /// Starts the copy of tile n, one row, from contiguous elements.
  ATTNC_DEVICE void fillRow(u32 n, const typename Tile::Element *from) const {
    static_assert(Tile::kRows == 1 && Tile::kBytes % 16 == 0);
    arriveExpecting(full(n), Tile::kBytes);
    copyBytes((*this)[n].base, from, Tile::kBytes, full(n));
  }
  /// One thread: tile n, one element, is x.
  ATTNC_DEVICE void put(u32 n, i32 x) const {
    storeShared((*this)[n].at(0, 0), static_cast<u32>(x));
    arrive(full(n));
  }

  // The warps that use the tiles.

  template <class Number> ATTNC_DEVICE Tile operator[](Number n) const {
    return {base + slot(n) * kSlotBytes};
  }
  /// Waits until tile n has arrived.
  template <class Number> ATTNC_DEVICE void await(Number n) const {
    awaitBarrier(full(n), parity(n));
  }
  /// What was put into tile n, read by the thread that will release it. The compiler sees that it
  /// is the same in the whole warp.
  ATTNC_DEVICE i32 take(u32 n) const {
    u32 put = 0;
    if (lane() == 0)
      put = loadShared((*this)[n].at(0, 0));
    return __shfl_sync(~0u, static_cast<i32>(put), 0);
  }
  /// This warp does not read tile n any more.
  template <class Number> ATTNC_DEVICE void release(Number n) const {
    if (lane() == 0)
      arrive(free(n));
  }
};

/// A pipe whose tiles warps write: all lanes have written a part and read a part, and each says so.
template <class TileType, int kStages> struct WrittenPipe : Pipe<TileType, kStages> {
  ATTNC_DEVICE void start(int users, int writers) const {
    Pipe<TileType, kStages>::start(users * kWarp, writers * kWarp);
  }
  /// This warp has written its part of tile n.
  template <class Number> ATTNC_DEVICE void complete(Number n) const { arrive(this->full(n)); }
  template <class Number> ATTNC_DEVICE void release(Number n) const { arrive(this->free(n)); }
};

/// Where a row begins, in elements, whether it exists, and its coordinates in a tensor map, but for
/// the column.
template <int kAxes> struct RowPlace {
  i64 offset;
  bool exists;
  i32 at[kAxes];
};

/// A pipe whose tiles threads copy, each a part: a tile has arrived when all their copies have.
template <class TileType, int kStages> struct CopiedPipe : Pipe<TileType, kStages> {
  ATTNC_DEVICE void start(int users, int writers) const {
    Pipe<TileType, kStages>::start(users, writers * kWarp);
  }
  /// The copies that this thread has started are its part of tile n. Who awaits the tile publishes
  /// it.
  template <class Number> ATTNC_DEVICE void complete(Number n) const {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(this->full(n))
                 : "memory");
  }
  /// One thread, which completes its part of tile n later: starts the copy of the kRun rows from
  /// part * kRun on, which begin at `from`, by boxes of `map`.
  template <int kRun, class Number, int kAxes>
  ATTNC_DEVICE void fillRun(Number n, int part, const TensorMap &map, RowPlace<kAxes> from) const {
    constexpr int kBytes = kRun * 128;
    const u32 barrier = this->full(n), to = (*this)[n].base + part * kBytes;
    expectBytes(barrier, TileType::kPanels * kBytes);
#pragma unroll
    for (int p = 0; p < TileType::kPanels; ++p) {
      const u32 panel = to + p * TileType::kPanelBytes;
      const i32 column = p * TileType::kPanelCols;
      if constexpr (kAxes == 1)
        copyBox(panel, map, barrier, column, from.at[0]);
      else if constexpr (kAxes == 2)
        copyBox(panel, map, barrier, column, from.at[0], from.at[1]);
      else if constexpr (kAxes == 3)
        copyBox(panel, map, barrier, column, from.at[0], from.at[1], from.at[2]);
      else
        copyBox(panel, map, barrier, column, from.at[0], from.at[1], from.at[2], from.at[3]);
    }
  }
};

} // namespace attnc
