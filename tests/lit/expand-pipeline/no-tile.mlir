// A row tile that may have no tile of the stream: who copies does nothing then, and who computes goes
// on behind the stream with what the states began with, and does not wait for the rows.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='from=assign-roles through=expand-pipeline' %s | FileCheck %s

// CHECK:       tile.role "load"
// CHECK-NOT:     tile.acquire
// CHECK:         scf.if %any {
// CHECK:           tile.acquire %k_pipe
// CHECK:           tile.acquire %q_pipe
// CHECK:           scf.for
// CHECK:         }
// CHECK-NOT:     tile.acquire
// CHECK:       tile.role "compute"
// CHECK:         %acc = tile.registers all
// CHECK-NOT:     tile.await
// CHECK:         scf.if %any{{.*}} {
// CHECK-NEXT:      tile.await %q_pipe
// CHECK:           scf.for
// CHECK:           tile.release %q_pipe
// CHECK:         }
// CHECK-NOT:     tile.await
// CHECK:         tile.reduce_rows max %acc

!q_tile = !tile.shared<64, 64, f16, panels 64>
!map = !tile.tensor_map<[64, 64], f16>

tile.kernel @scores("q_map" = %q_map: !map, "k_map" = %k_map: !map, "tiles" = %tiles: i32, "works" = %works: i32) grid [1] threads 256 smem 0 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32 loc("work"), %turn: i32 loc("turn")):
    %i0 = arith.muli %work, %c64 : i32 loc("i0")
    %any = arith.cmpi slt, %i0, %tiles : i32 loc("any")
    %q = tile.fetch %q_map(%i0) {late, stages = 1 : i64} : !map -> !q_tile loc("q")
    %acc = tile.registers all 0.0 : !tile.fragment<16, 64> loc("acc")
    %m = tile.registers all 0.0 : !tile.rows<16> loc("m")
    tile.stream %c0 to %tiles if %any {
    ^bb0(%t: i32 loc("t"), %n: i32 loc("n"), %is_first: i1 loc("is_first"), %is_last: i1 loc("is_last")):
      %j0 = arith.muli %t, %c64 : i32 loc("j0")
      %k = tile.fetch %k_map(%j0) {stages = 2 : i64} : !map -> !q_tile loc("k")
      tile.step "scores" {
        tile.mma_start %acc, %q, %k transposed : !tile.fragment<16, 64>, !q_tile, !q_tile
        tile.yield
      }
    }
    tile.reduce_rows max %acc into %m : !tile.fragment<16, 64>, !tile.rows<16>
  }
}
