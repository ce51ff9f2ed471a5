// Where the mask bounds the stream from below too, the tiles before a group's own pass it by as well; the
// number of a tile in the pipes is counted from the block's first tile.
//   p = softmax(j, where(j <= i and j > i - 100, scale * sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": true
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @window_o(
// CHECK:       tile.role "load"
// CHECK:           %[[END:[a-z0-9_]+]] = arith.maxsi %end_tile,
// CHECK:           %[[J:[a-z0-9_]+]] = arith.muli %first_tile, %c64_i32
// CHECK-NEXT:      tile.acquire %k_pipe[%tiles_before]
// CHECK-NEXT:      tile.fill %k_pipe[%tiles_before] from %k_map(%[[J]],
// CHECK:           scf.for %t = %{{[a-z0-9_]+}} to %[[END]] step

// CHECK:       tile.role "compute"
// CHECK:           %first_tile = arith.divsi
// CHECK:           %[[END:[a-z0-9_]+]] = arith.maxsi %end_tile,
// CHECK:           %[[LAST:[a-z0-9_]+]] = arith.addi %[[END]], %c-1_i32
// CHECK:           %first_tile_[[OWN:[0-9]+]] = arith.divsi
// CHECK:           %[[FROM:[a-z0-9_]+]] = arith.maxsi %first_tile_[[OWN]], %first_tile
// CHECK-NEXT:      %own_first = arith.minsi %[[FROM]], %[[LAST]]
// CHECK:           %shift = arith.subi %tiles_before, %first_tile
// CHECK:           scf.for %t = %first_tile to %own_first step
// CHECK-NEXT:        %[[N:[a-z0-9_]+]] = arith.addi %t, %shift
// CHECK-NEXT:        tile.await %k_pipe[%[[N]]]
// CHECK-NEXT:        tile.await %v_pipe[%[[N]]]
// CHECK-NEXT:        tile.release %k_pipe[%[[N]]]
// CHECK-NEXT:        tile.release %v_pipe[%[[N]]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[N0:[a-z0-9_]+]] = arith.addi %own_first, %shift
// CHECK-NEXT:      %j0 = arith.muli %own_first, %c64_i32
// CHECK-NEXT:      tile.await %k_pipe[%[[N0]]]
// CHECK:           %[[NEXT:[a-z0-9_]+]] = arith.addi %own_first, %c1_i32
// CHECK-NEXT:      scf.for %t = %[[NEXT]] to %own_end step
// CHECK:           scf.for %t = %own_end to %[[END]] step
// CHECK:           %[[AFTER:[a-z0-9_]+]] = arith.addi %[[END]], %shift
// CHECK:           scf.yield %[[AFTER]],

attn.program @window dims [h, i, d = 64, j, e = 64] {
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
    %c100_i64 = arith.constant 100 : i64
    %7 = arith.subi %arg1, %c100_i64 : i64
    %8 = arith.cmpi sgt, %arg0, %7 : i64
    %9 = arith.andi %6, %8 : i1
    %cst = arith.constant 0xFF800000 : f32
    %10 = arith.select %9, %s_3, %cst : f32
    attn.yield %10 : f32
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
