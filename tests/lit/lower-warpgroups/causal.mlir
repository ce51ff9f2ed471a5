// Groups of a block see different parts of the stream: each has its own range of tiles, and lets the
// others pass through the pipes, those after its own behind the epilogue. The last row tiles, which see
// most, come first. Only tiles on the diagonal or at the extent evaluate the mask.
//   p = softmax(j, where(j <= i, scale * sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": true
// RUN: %through-all %s | FileCheck %s

// The number of a row tile counts down within the cells that run side by side.
// CHECK-LABEL: tile.kernel @causal_o(
// CHECK:       %together = arith.minsi
// CHECK:       tile.role "load"
// CHECK:         scf.for %work =
// CHECK:           %batch = arith.muli %i_tiles, %together
// CHECK:           %beside = arith.minsi
// CHECK:           %in_batch = arith.remui %work, %batch
// CHECK:           %[[LAST:[a-z0-9_]+]] = arith.subi %i_tiles, %c1_i32
// CHECK:           %[[NUMBER:[a-z0-9_]+]] = arith.divui %in_batch, %beside
// CHECK:           %[[DOWN:[a-z0-9_]+]] = arith.subi %[[LAST]], %[[NUMBER]]
// CHECK:           %i0 = arith.muli %[[DOWN]], %c128_i32

// Tiles of the block: up to the last of its 128 rows.
// CHECK:       tile.role "compute"
// CHECK:         scf.for %work = {{.*}} iter_args(%tiles_before = %c0_i32, %turn = %c0_i32)
// CHECK:           %[[ROWS:[a-z0-9_]+]] = arith.addi %i0, %c128_i32
// CHECK:           %end_tile = arith.divsi
// CHECK:           %[[END:[a-z0-9_]+]] = arith.maxsi %end_tile, %c1_i32
// CHECK:           %i_group = arith.addi %i0, %{{.*}}

// Tiles of the group: up to the last of its 64 rows, but at least one, and none that the block lacks.
// CHECK:           arith.addi %i_group, %c64_i32
// CHECK:           %own_first = arith.minsi
// CHECK:           %[[OWN:[a-z0-9_]+]] = arith.minsi %{{[a-z0-9_]+}}, %[[END]]
// CHECK-NEXT:      %[[ONE:[a-z0-9_]+]] = arith.addi %own_first, %c1_i32
// CHECK-NEXT:      %own_end = arith.maxsi %[[OWN]], %[[ONE]]

// CHECK:           scf.for %t = %c0_i32 to %own_first step
// CHECK:             tile.await %k_pipe
// CHECK-NEXT:        tile.await %v_pipe
// CHECK-NEXT:        tile.release %k_pipe
// CHECK-NEXT:        tile.release %v_pipe
// CHECK-NEXT:      }

// A tile is full if it ends before the extent and its last column is at most the group's first row.
// CHECK:           tile.mma_start %scores
// CHECK:           %[[J1:[a-z0-9_]+]] = arith.addi %j0, %c64_i32
// CHECK:           %[[INSIDE:[a-z0-9_]+]] = arith.cmpi sle, %[[J1]], %j_end
// CHECK:           %[[COLUMN:[a-z0-9_]+]] = arith.addi %j0, %c63_i32
// CHECK:           %[[D:[a-z0-9_]+]] = arith.subi %i_group, %[[COLUMN]]
// CHECK:           %[[BELOW:[a-z0-9_]+]] = arith.cmpi sge, %[[D]], %c0_i32
// CHECK:           %[[FULL:[a-z0-9_]+]] = arith.andi %[[INSIDE]], %[[BELOW]]
// CHECK-NEXT:      scf.if %[[FULL]] {
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tile.map rows(%i_begin as %i) cols(%j0 as %j)
// CHECK-NEXT:          %[[SEEN:[a-z0-9_]+]] = arith.cmpi sle, %j, %i : i32
// CHECK-NEXT:          arith.select %[[SEEN]],
// CHECK:               arith.cmpi slt, %j, %j_end
// CHECK:           scf.for %t = %{{[a-z0-9_]+}} to %own_end step
// CHECK:             tile.mma_wait 1 for %scores
// CHECK:             scf.if
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tile.map rows(%i_begin as %i) cols(%{{[a-z0-9_]+}} as %j)
// CHECK-NEXT:            arith.cmpi sle, %j, %i : i32

// CHECK:           tile.mma_wait 0 for %[[O:[a-z0-9_]+]] :
// CHECK:           tile.store_{{.*}} %[[O]]
// CHECK:           scf.for %t = %own_end to %[[END]] step
// CHECK:             tile.await %k_pipe
// CHECK-NEXT:        tile.await %v_pipe
// CHECK-NEXT:        tile.release %k_pipe
// CHECK-NEXT:        tile.release %v_pipe
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[TILES:[a-z0-9_]+]] = arith.addi %[[END]], %tiles_before
// CHECK-NEXT:      %[[TURNS:[a-z0-9_]+]] = arith.addi %turn, %c1_i32
// CHECK-NEXT:      scf.yield %[[TILES]], %[[TURNS]]

attn.program @causal dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %6 = arith.mulf %q_3, %k_4 : f32
    attn.yield %6 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %s = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.mulf %scale_3, %arg1 : f32
    attn.yield %6 : f32
  } loc("s")
  %2 = attn.index j : <[j], i64>
  %3 = attn.index i : <[i], i64>
  %4 = attn.map (%arg0 = %2 : !attn.array<[j], i64>, %arg1 = %3 : !attn.array<[i], i64>, %s_3 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0xFF800000 : f32
    %7 = arith.select %6, %s_3, %cst : f32
    attn.yield %7 : f32
  }
  %p = attn.softmax over [j] %4 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %5 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %6 = arith.mulf %p_3, %v_4 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %5 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
