// Two sums with the weights p, of the scores s, and p * t: p is made and multiplied before t is there. The
// scores of a tile are started behind everything else for the tile before.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=lower-nests target=sm_90a override={"form": "warpgroups", "groups": 2, "stream_tile": 48, "stages": 2, "ping_pong": false, "persistent": true, "staged_weights": true, "producer_registers": 40, "consumer_registers": 232}' | FileCheck %s
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=synchronise target=sm_90a override={"form": "warpgroups", "groups": 2, "stream_tile": 48, "stages": 2, "ping_pong": false, "persistent": true, "staged_weights": true, "producer_registers": 40, "consumer_registers": 232}' | FileCheck %s --check-prefix=SYNC

// CHECK:      %k = tile.fetch %k_map(%j0) {order = 3 : i64
// CHECK:      %v = tile.fetch %v_map(%j0) {stage = 1 : i64
// CHECK:      tile.step "scores" order 7 pending 1 {
// CHECK:      tile.step "fold" stage 1 {
// CHECK:      tile.step "convert" stage 1 order 1 {
// CHECK:      tile.step "values" stage 1 order 3 {
// CHECK:      tile.step "scores" stage 1 order 2 {
// CHECK:      tile.step "fold" stage 1 order 4 {
// CHECK:      tile.step "convert" stage 1 order 5 {
// CHECK:      tile.step "values" stage 1 order 6 pending 1 {

// SYNC:       tile.role "compute"
// SYNC:       scf.for %t =
// SYNC:         tile.convert {{.*}} to %weights :
// SYNC:         tile.await %v_pipe[%before]
// SYNC:         tile.mma_start {{.*}} transposed fresh
// SYNC:         tile.mma_commit
// SYNC:         tile.mma_start %[[O:.*]], %weights,
// SYNC:         tile.mma_commit
// SYNC:         tile.mma_wait 1 for %scores
// SYNC:         tile.convert
// SYNC:         tile.mma_start %[[C:.*]], %weights
// SYNC:         tile.mma_commit
// SYNC:         tile.mma_wait 1 for %[[O]]
// SYNC:         tile.release %v_pipe[%before]
// SYNC:         tile.await %k_pipe[%number
// SYNC:         tile.mma_start %scores,
// SYNC:         tile.mma_commit
// SYNC:         tile.mma_wait 1 for %[[C]]
// SYNC:         tile.release %k_pipe[%before]
// SYNC:         tile.mma_wait 0 for %scores
// SYNC-NEXT:  }
// What the last tile reads of the rows is released behind it.
// SYNC:       tile.release %q_pipe[%turn]
// SYNC-NOT:   tile.release %g_pipe
// SYNC:       tile.mma_wait 0
// SYNC:       tile.release %g_pipe[%turn]

attn.program @two_sums dims [i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[i, d], bf16>
  %k = attn.input "k" : <[j, d], bf16>
  %v = attn.input "v" : <[j, e], bf16>
  %g = attn.input "g" : <[i, e], bf16>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], bf16>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], bf16>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[i, d], f32>, %k_5 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %q_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32>
  %p = attn.map (%s_4 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %4 = math.tanh %s_4 fastmath<afn> : f32
    attn.yield %4 : f32
  }
  %g_2 = attn.read %g [i, e] : (!attn.array<[i, e], bf16>) -> !attn.array<[i, e], f32>
  %v_3 = attn.read %v [j, e] : (!attn.array<[j, e], bf16>) -> !attn.array<[j, e], f32>
  %1 = attn.map (%g_4 = %g_2 : !attn.array<[i, e], f32>, %v_5 = %v_3 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %4 = arith.mulf %g_4, %v_5 : f32
    attn.yield %4 : f32
  }
  %t = attn.reduce add over [e] %1 : <[i, j, e], f32> -> <[i, j], f32>
  %r = attn.map (%p_4 = %p : !attn.array<[i, j], f32>, %t_5 = %t : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %4 = arith.mulf %p_4, %t_5 : f32
    attn.yield %4 : f32
  }
  %2 = attn.map (%p_4 = %p : !attn.array<[i, j], f32>, %v_5 = %v_3 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %4 = arith.mulf %p_4, %v_5 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %2 : <[i, j, e], f32> -> <[i, e], f32>
  %3 = attn.map (%r_4 = %r : !attn.array<[i, j], f32>, %k_5 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %r_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %c = attn.reduce add over [j] %3 : <[i, d, j], f32> -> <[i, d], f32>
  attn.output "o" [i, e] %o as bf16 : <[i, e], f32>
  attn.output "c" [i, d] %c as bf16 : <[i, d], f32>
}
