// Groups start their products one after the other: group g waits at barrier g + 1 for a signal of the
// one before it, 128 threads of each; the last one signals the first, which starts with a signal of
// its own. Tiles that a group lets pass count as turns.
//   p = softmax(j, where(j <= i, scale * sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 3, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 160, "ping_pong": true, "persistent": false
// RUN: %through-all %s | FileCheck %s --check-prefix=TURNS
// REDEFINE: %{schedule} = "groups": 3, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 160, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s --check-prefix=FREE

// TURNS-LABEL: tile.kernel @causal_o(
// TURNS:       tile.role "compute" warps 4 count 12 registers 160
// TURNS-NEXT:    %group = tile.group
// TURNS-NEXT:    %[[FIRST:[a-z0-9_]+]] = arith.cmpi eq, %group, %c0_i32
// TURNS-NEXT:    scf.if %[[FIRST]] {
// TURNS-NEXT:      tile.barrier_arrive %c1_i32 threads 256
// TURNS-NEXT:    }
// TURNS:         scf.for %t = %{{[a-z0-9_]+}} to %own_first
// TURNS:           tile.barrier_sync
// TURNS:           tile.barrier_arrive
// TURNS:         scf.for %t = %{{[a-z0-9_]+}} to %own_end
// TURNS:           tile.await %k_pipe
// TURNS-NEXT:      %[[OWN:[a-z0-9_]+]] = arith.addi %group, %c1_i32
// TURNS-NEXT:      tile.barrier_sync %[[OWN]] threads 256
// TURNS-NEXT:      tile.mma_fence
// TURNS:           tile.mma_start %scores
// TURNS:           tile.mma_start
// TURNS-NEXT:      tile.mma_commit
// TURNS-NEXT:      %[[NEXT:[a-z0-9_]+]] = arith.addi %group, %c2_i32
// TURNS-NEXT:      %[[LAST:[a-z0-9_]+]] = arith.cmpi eq, %group, %c2_i32
// TURNS-NEXT:      %[[OTHER:[a-z0-9_]+]] = arith.select %[[LAST]], %c1_i32, %[[NEXT]]
// TURNS-NEXT:      tile.barrier_arrive %[[OTHER]] threads 256
// TURNS-NEXT:      tile.mma_wait 1
// TURNS:         scf.for %t = %own_end to
// TURNS:           tile.barrier_sync
// TURNS:           tile.barrier_arrive

// FREE-LABEL: tile.kernel @causal_o(
// FREE-NOT:    tile.barrier_sync
// FREE-NOT:    tile.barrier_arrive

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
