// Of steps with the same order the first in the text awaits a tile and the last one releases it.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='from=assign-roles through=assign-roles' %s | FileCheck %s

// CHECK:      tile.role "compute"
// CHECK:      tile.step "first" {
// CHECK-NEXT:   tile.await %k_pipe
// CHECK-NOT:    tile.release
// CHECK:      tile.step "second" {
// CHECK-NOT:    tile.await
// CHECK:        tile.release %k_pipe

!tile = !tile.shared<64, 64, f16, panels 64>
!map = !tile.tensor_map<[64, 64], f16>

tile.kernel @same_order("k_map" = %k_map: !map, "tiles" = %tiles: i32, "works" = %works: i32) grid [1] threads 256 smem 0 {
  %c0 = arith.constant 0 : i32
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %s = tile.registers : !tile.fragment<16, 64>
    %r = tile.registers : !tile.fragment<16, 64>
    tile.stream %c0 to %tiles {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 2 : i64} : !map -> !tile loc("k")
      tile.step "first" {
        tile.mma_start %s, %k, %k transposed fresh : !tile.fragment<16, 64>, !tile, !tile
        tile.yield
      }
      tile.step "second" {
        tile.mma_start %r, %k, %k transposed fresh : !tile.fragment<16, 64>, !tile, !tile
        tile.yield
      }
    }
  }
}
