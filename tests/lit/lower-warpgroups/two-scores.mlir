// Two products of scores start together, and so do the products of both weights with the one operand
// that they share; each softmax has its own reference, which moves on its own.
//   o[h,i,e] = sum(j, (softmax(j, sum(d, q * k)) - lam[h] * softmax(j, sum(d, q2 * k2))) * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @difference_o(
// CHECK:       tile.start_pipes %q_pipe, %q2_pipe, %k_pipe, %k2_pipe, %v_pipe
// CHECK:       tile.role "load"
// CHECK:         scf.for %t =
// CHECK:           tile.fill %k_pipe[%t]
// CHECK:           tile.fill %k2_pipe[%t]
// CHECK:           tile.fill %v_pipe[%{{[a-z0-9_]+}}]
// CHECK:       tile.role "compute"
// CHECK:         scf.for %t = {{.*}} iter_args(%[[LAST1:[a-z0-9_]+]] = %false, %[[LAST2:[a-z0-9_]+]] = %false)
// CHECK:           scf.if %[[LAST1]] {
// CHECK-NEXT:        tile.scale_rows %[[O1:[a-z0-9_]+]] by
// CHECK:           scf.if %[[LAST2]] {
// CHECK-NEXT:        tile.scale_rows %[[O2:[a-z0-9_]+]] by
// CHECK:           tile.await %k_pipe[%t]
// CHECK-NEXT:      tile.await %k2_pipe[%t]
// CHECK-NEXT:      tile.mma_fence
// CHECK:           tile.mma_start %[[S1:[a-z0-9_]+]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} transposed fresh
// CHECK-NOT:       tile.mma_commit
// CHECK:           tile.mma_start %[[S2:[a-z0-9_]+]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} transposed fresh
// CHECK-NEXT:      tile.mma_commit
// CHECK:           tile.mma_start %[[O1]], %[[W1:[a-z0-9_]+]], %{{[a-z0-9_]+}} :
// CHECK-NOT:       tile.mma_commit
// CHECK:           tile.mma_start %[[O2]], %[[W2:[a-z0-9_]+]], %{{[a-z0-9_]+}} :
// CHECK-NEXT:      tile.mma_commit
// CHECK-NEXT:      tile.mma_wait 1 for %[[S1]], %[[S2]] :
// CHECK-NEXT:      tile.release %k_pipe[%t]
// CHECK-NEXT:      tile.release %k2_pipe[%t]
// CHECK:           tile.reduce_rows max %[[S1]] into %[[TOP1:[a-z0-9_]+]] :
// CHECK:           %[[MOVED1:[a-z0-9_]+]] = tile.any(%[[TOP1]], %[[M1:[a-z0-9_]+]])
// CHECK:           tile.reduce_rows max %[[S2]] into %[[TOP2:[a-z0-9_]+]] :
// CHECK:           %[[MOVED2:[a-z0-9_]+]] = tile.any(%[[TOP2]], %[[M2:[a-z0-9_]+]])
// CHECK:           tile.mma_wait 0 for %[[O1]], %[[O2]], %[[S1]], %[[S2]] :
// CHECK-NEXT:      tile.release %v_pipe
// CHECK-NEXT:      tile.convert %[[S1]] to %[[W1]]
// CHECK-NEXT:      tile.convert %[[S2]] to %[[W2]]
// CHECK-NEXT:      scf.yield %[[MOVED1]], %[[MOVED2]] : i1, i1

attn.program @difference dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %q2 = attn.input "q2" : <[h, i, d], bf16>
  %k2 = attn.input "k2" : <[h, j, d], bf16>
  %lam = attn.input "lam" : <[h], f32> loc("lam")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_6 = %q_0 : !attn.array<[h, i, d], f32>, %k_7 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_6, %k_7 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %q2_2 = attn.read %q2 [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k2_3 = attn.read %k2 [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %1 = attn.map (%q2_6 = %q2_2 : !attn.array<[h, i, d], f32>, %k2_7 = %k2_3 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q2_6, %k2_7 : f32
    attn.yield %5 : f32
  }
  %r = attn.reduce add over [d] %1 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("r")
  %2 = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32>
  %lam_4 = attn.read %lam [h] : (!attn.array<[h], f32>) -> !attn.array<[h], f32> loc("lam")
  %3 = attn.softmax over [j] %r : <[h, i, j], f32> -> <[h, i, j], f32>
  %v_5 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %4 = attn.map (%arg0 = %2 : !attn.array<[h, i, j], f32>, %lam_6 = %lam_4 : !attn.array<[h], f32>, %arg2 = %3 : !attn.array<[h, i, j], f32>, %v_7 = %v_5 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %5 = arith.mulf %lam_6, %arg2 : f32
    %6 = attn.sub %arg0, %5 : f32
    %7 = arith.mulf %6, %v_7 : f32
    attn.yield %7 : f32
  }
  %o = attn.reduce add over [j] %4 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
