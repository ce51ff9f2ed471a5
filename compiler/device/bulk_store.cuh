// Copies from shared to global memory that one thread starts. PTX ISA, "cp.async.bulk" and
// "cp.reduce.async.bulk". The shared memory was published to asynchronous ops before, by the
// threads that wrote it.
#pragma once
#include "attnc/pipe.cuh"

namespace attnc {

// A panel at the given coordinates, in as many dims as there are of these.
#define ATTNC_PANEL_STORES(name, instruction, way)                                                 \
  ATTNC_DEVICE void name(const TensorMap &map, u32 from, i32 x, i32 y) {                           \
    asm volatile(instruction ".2d.global.shared::cta" way                                          \
                             ".bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),                      \
                 "r"(from), "r"(x), "r"(y)                                                         \
                 : "memory");                                                                      \
  }                                                                                                \
  ATTNC_DEVICE void name(const TensorMap &map, u32 from, i32 x, i32 y, i32 z) {                    \
    asm volatile(instruction ".3d.global.shared::cta" way                                          \
                             ".bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),                  \
                 "r"(from), "r"(x), "r"(y), "r"(z)                                                 \
                 : "memory");                                                                      \
  }                                                                                                \
  ATTNC_DEVICE void name(const TensorMap &map, u32 from, i32 x, i32 y, i32 z, i32 w) {             \
    asm volatile(instruction ".4d.global.shared::cta" way                                          \
                             ".bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),              \
                 "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)                                         \
                 : "memory");                                                                      \
  }                                                                                                \
  ATTNC_DEVICE void name(const TensorMap &map, u32 from, i32 x, i32 y, i32 z, i32 w, i32 v) {      \
    asm volatile(instruction ".5d.global.shared::cta" way                                          \
                             ".bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&map),          \
                 "r"(from), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v)                                 \
                 : "memory");                                                                      \
  }
ATTNC_PANEL_STORES(storePanel, "cp.async.bulk.tensor", "")
/// The same, added to the elements in memory, which are f32.
ATTNC_PANEL_STORES(addPanel, "cp.reduce.async.bulk.tensor", ".add")
#undef ATTNC_PANEL_STORES

/// The box of `map` at the given coordinates, from `column` on, panel by panel. What lies outside
/// of the tensor is not written.
template <class Tile, class... Coordinates>
ATTNC_DEVICE void storeBoxFrom(const TensorMap &map, Tile tile, i32 column, Coordinates... at) {
#pragma unroll
  for (int p = 0; p < Tile::kPanels; ++p)
    storePanel(map, tile.base + p * Tile::kPanelBytes, column + p * Tile::kPanelCols, at...);
}
/// The same from column 0 on.
template <class Tile, class... Coordinates>
ATTNC_DEVICE void storeBox(const TensorMap &map, Tile tile, Coordinates... at) {
  storeBoxFrom(map, tile, 0, at...);
}

/// As storeBoxFrom and storeBox, added to what is there.
template <class Tile, class... Coordinates>
ATTNC_DEVICE void addBoxFrom(const TensorMap &map, Tile tile, i32 column, Coordinates... at) {
#pragma unroll
  for (int p = 0; p < Tile::kPanels; ++p)
    addPanel(map, tile.base + p * Tile::kPanelBytes, column + p * Tile::kPanelCols, at...);
}
template <class Tile, class... Coordinates>
ATTNC_DEVICE void addBox(const TensorMap &map, Tile tile, Coordinates... at) {
  addBoxFrom(map, tile, 0, at...);
}

/// Adds a contiguous tile to as many elements of global memory, 16-byte aligned.
template <class Tile> ATTNC_DEVICE void addBulk(f32 *to, Tile tile) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(tile.base), "n"(Tile::kBytes)
               : "memory");
}

/// Closes the group of stores that this thread has started since the last one.
ATTNC_DEVICE void commitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until at most kPending of this thread's groups are unfinished.
template <int kPending> ATTNC_DEVICE void waitStores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
/// The same, but only until shared memory has been read and may be written again.
template <int kPending> ATTNC_DEVICE void waitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

} // namespace attnc
