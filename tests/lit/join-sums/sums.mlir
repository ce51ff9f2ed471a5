// Sums with the weights r = p * t: over i beside a sum with p, and over j alone, times f. The nest over i computes
// both weights; it also takes the sum over j, which its blocks add up in memory, and what is left is a nest
// without a stream. Where the schedule does not ask for it, or the GPU has no warpgroups, nothing changes.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=join-sums target=sm_90a override={"joined_sums": true}' | FileCheck %s
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=join-sums target=sm_90a override={"joined_sums": false}' | FileCheck %s --check-prefix=NONE
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=join-sums target=sm_80 override={"joined_sums": true}' | FileCheck %s --check-prefix=NONE

// CHECK:      %[[N:.*]]:3 = red.nest grid [h] row [j] stream [i] inner [d, e] : {{.*}}, !attn.array<[h, i, d], f32> {
// CHECK:        red.fold add over [i]
// CHECK:        red.fold add over [i]
// CHECK:        %[[S:.*]] = red.fold add over [j]({{.*}}) : {{.*}} -> !attn.array<[h, i, d], f32>
// CHECK:        red.yield {{.*}}, %[[S]] :
// CHECK:      %[[R:.*]] = red.nest grid [h, i, d] row [] stream [] inner [] : !attn.array<[h, i, d], f32> {
// CHECK:        attn.read %[[N]]#2 [h, i, d]
// CHECK-NOT:    red.fold
// CHECK:      attn.output "c" [h, i, d] %[[R]]

// NONE-NOT:   grid [h, i, d]

attn.program @sums dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16>
  %k = attn.input "k" : <[h, j, d], bf16>
  %v = attn.input "v" : <[h, j, e], bf16>
  %g = attn.input "g" : <[h, i, e], bf16>
  %f = attn.input "f" : <[h, i], f32>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.map (%s_4 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %4 = math.tanh %s_4 fastmath<afn> : f32
    attn.yield %4 : f32
  }
  %g_2 = attn.read %g [h, i, e] : (!attn.array<[h, i, e], bf16>) -> !attn.array<[h, i, e], f32>
  %v_3 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32>
  %1 = attn.map (%g_4 = %g_2 : !attn.array<[h, i, e], f32>, %v_5 = %v_3 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %4 = arith.mulf %g_4, %v_5 : f32
    attn.yield %4 : f32
  }
  %t = attn.reduce add over [e] %1 : <[h, i, j, e], f32> -> <[h, i, j], f32>
  %r = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %t_5 = %t : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %4 = arith.mulf %p_4, %t_5 : f32
    attn.yield %4 : f32
  }
  %2 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %g_5 = %g_2 : !attn.array<[h, i, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %4 = arith.mulf %p_4, %g_5 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [i] %2 : <[h, i, j, e], f32> -> <[h, j, e], f32>
  %3 = attn.map (%r_4 = %r : !attn.array<[h, i, j], f32>, %q_5 = %q_0 : !attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %r_4, %q_5 : f32
    attn.yield %4 : f32
  }
  %u = attn.reduce add over [i] %3 : <[h, i, d, j], f32> -> <[h, d, j], f32>
  %5 = attn.map (%r_4 = %r : !attn.array<[h, i, j], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %r_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %c = attn.reduce add over [j] %5 : <[h, i, d, j], f32> -> <[h, i, d], f32>
  attn.output "o" [h, j, e] %o as bf16 : <[h, j, e], f32>
  attn.output "u" [h, j, d] %u as bf16 : <[h, d, j], f32>
  attn.output "c" [h, i, d] %c as bf16 : <[h, i, d], f32>
}
