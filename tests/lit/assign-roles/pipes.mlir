// Each role keeps the whole loop with its own ops of it. A fetched tile is a pipe between them: the one
// that copies acquires and fills it, the others await it before the first step that uses it and
// release it behind the last one. What rows need once comes behind what the first tile needs.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='from=assign-roles through=assign-roles' %s | FileCheck %s

// CHECK:       %q_pipe = tile.pipe
// CHECK-NEXT:  %k_pipe = tile.pipe {{.*}} users 4 : <2,
// CHECK-NEXT:  %v_pipe = tile.pipe
// CHECK-NEXT:  tile.start_pipes %q_pipe, %k_pipe, %v_pipe
// CHECK:       tile.role "load" warps 0 count 4 registers 24
// CHECK-NEXT:    tile.single
// CHECK-NEXT:      tile.row_tiles
// CHECK-NOT:     tile.registers
// CHECK:           tile.stream
// CHECK:             tile.step "k" {
// CHECK-NEXT:          tile.acquire %k_pipe[%n]
// CHECK-NEXT:          tile.fill %k_pipe[%n] from %{{.*}}(%j0)
// CHECK:             tile.step "v" stage 1 order 3 {
// CHECK-NEXT:          tile.acquire %v_pipe[%n]
// CHECK-NEXT:          tile.fill %v_pipe[%n] from %{{.*}}(%j0)
// CHECK:             tile.step "q" order 2 {
// CHECK-NEXT:          scf.if %is_first {
// CHECK-NEXT:            tile.acquire %q_pipe[%turn]
// CHECK-NOT:         tile.mma_start
// CHECK:       tile.role "compute" warps 4 count 4 registers 240
// CHECK-NOT:     tile.fetch
// CHECK:         tile.await %q_pipe[%turn]
// CHECK-NEXT:    tile.stream
// CHECK:           tile.step "scores" {
// CHECK-DAG:         tile.stage %q_pipe[%turn]
// CHECK-DAG:         tile.await %k_pipe[%n]
// CHECK:             tile.mma_start %s
// CHECK-NEXT:        tile.release %k_pipe[%n]
// CHECK:           tile.step "values" stage 1 order 1 {
// CHECK-NEXT:        tile.await %v_pipe[%n]
// CHECK:             tile.mma_start %acc
// CHECK-NEXT:        tile.release %v_pipe[%n]
// CHECK:           tile.release %q_pipe[%turn]

!q_tile = !tile.shared<64, 64, f16, panels 64>
!k_tile = !tile.shared<64, 64, f16, panels 64>
!map = !tile.tensor_map<[64, 64], f16>

tile.kernel @sums("q_map" = %q_map: !map, "k_map" = %k_map: !map, "v_map" = %v_map: !map, "tiles" = %tiles: i32, "works" = %works: i32) grid [1] threads 256 smem 0 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32 loc("work"), %turn: i32 loc("turn")):
    %i0 = arith.muli %work, %c64 : i32 loc("i0")
    %q = tile.fetch %q_map(%i0) {late, stages = 1 : i64} : !map -> !q_tile loc("q")
    %acc = tile.registers all 0.0 : !tile.fragment<16, 64> loc("acc")
    %s = tile.registers : !tile.fragment<16, 64> loc("s")
    %m = tile.registers all 0.0 : !tile.rows<16> loc("m")
    %w = tile.registers : !tile.operand<16, 64, f16> loc("w")
    tile.stream %c0 to %tiles {
    ^bb0(%t: i32 loc("t"), %n: i32 loc("n"), %is_first: i1 loc("is_first"), %is_last: i1 loc("is_last")):
      %j0 = arith.muli %t, %c64 : i32 loc("j0")
      %k = tile.fetch %k_map(%j0) {stages = 2 : i64} : !map -> !k_tile loc("k")
      %v = tile.fetch %v_map(%j0) {stages = 2 : i64, stage = 1 : i64, order = 3 : i64} : !map -> !k_tile loc("v")
      tile.step "scores" {
        tile.mma_start %s, %q, %k transposed fresh : !tile.fragment<16, 64>, !q_tile, !k_tile
        tile.yield
      }
      tile.step "values" stage 1 order 1 {
        tile.mma_start %acc, %w, %v : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !k_tile
        tile.yield
      }
      %moved = tile.step "fold" order 2 -> i1 {
        %flag = scf.if %is_first -> i1 {
          %no = arith.constant false
          scf.yield %no : i1
        } else {
          %any = tile.any(%m) : !tile.rows<16> {
          ^bb0(%x: f32):
            %zero = arith.constant 0.0 : f32
            %is = arith.cmpf ogt, %x, %zero : f32
            tile.yield %is : i1
          }
          scf.yield %any : i1
        }
        tile.reduce_rows max %s into %m : !tile.fragment<16, 64>, !tile.rows<16>
        tile.yield %flag : i1
      }
      tile.step "convert" order 3 {
        tile.convert %s to %w : !tile.fragment<16, 64> -> !tile.operand<16, 64, f16>
        tile.yield
      }
    }
    tile.reduce_quad max %m : !tile.rows<16>
    tile.reduce_rows max %acc into %m : !tile.fragment<16, 64>, !tile.rows<16>
  }
}
