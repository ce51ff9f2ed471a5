// Two sums with the weights p, of scores, and p * t: a nest of its own stores both with 16 bits, in a slab, and both sums
// are products of what it has stored. Where the rows of all scores are wide, each weight has a nest, and the second reads
// the first; where no slab is said, nothing changes.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=store-weights target=sm_90a override={"slab_bytes": 65536}' | FileCheck %s
// RUN: sed 's/d = 64/d = 320/; s/e = 64/e = 320/' %s | attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='through=store-weights target=sm_90a override={"slab_bytes": 65536}' | FileCheck %s --check-prefix=WIDE
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=store-weights target=sm_90a' | FileCheck %s --check-prefix=NONE
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=store-weights target=sm_80 override={"slab_bytes": 65536}' | FileCheck %s --check-prefix=NONE

// CHECK:      %[[W:.*]]:2 = red.nest grid [h] row [i] stream [j] inner [d, e] : !attn.array<[h, i, j], bf16>, !attn.array<[h, i, j], bf16> {
// CHECK:        red.fold add over [d]
// CHECK:        red.fold add over [e]
// CHECK:      } {red.slab = 65536 : i64}
// CHECK:      %[[O:.*]] = red.nest grid [h] row [i] stream [j] inner [e] : !attn.array<[h, i, e], f32> {
// CHECK-DAG:    %[[V:.*]] = attn.read %{{.*}} [h, j, e]
// CHECK-DAG:    %[[P:.*]] = attn.read %[[W]]#0 [h, i, j] : (!attn.array<[h, i, j], bf16>) -> !attn.array<[h, i, j], f32>
// CHECK:        red.fold add over [j](%[[P]], %[[V]])
// CHECK:      red.slab = 65536
// CHECK:      %[[C:.*]] = red.nest grid [h] row [i] stream [j] inner [d] : !attn.array<[h, i, d], f32> {
// CHECK:        attn.read %[[W]]#1 [h, i, j]
// CHECK:      red.slab = 65536
// CHECK:      attn.output "o" [h, i, e] %[[O]]
// CHECK:      attn.output "c" [h, i, d] %[[C]]

// WIDE:       %[[P:.*]] = red.nest grid [h] row [i] stream [j] inner [d] : !attn.array<[h, i, j], bf16> {
// WIDE:         red.fold add over [d]
// WIDE:       %[[R:.*]] = red.nest grid [h] row [i] stream [j] inner [e] : !attn.array<[h, i, j], bf16> {
// WIDE:         attn.read %[[P]] [h, i, j]
// WIDE-NOT:     red.fold add over [d]
// WIDE:         red.fold add over [e]

// NONE-NOT:   red.slab
// NONE:       red.nest grid [h] row [i] stream [j] inner [d, e] : !attn.array<[h, i, e], f32>, !attn.array<[h, i, d], f32>
// NONE-NOT:   red.nest

attn.program @two_sums dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16>
  %k = attn.input "k" : <[h, j, d], bf16>
  %v = attn.input "v" : <[h, j, e], bf16>
  %g = attn.input "g" : <[h, i, e], bf16>
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
  %2 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %v_5 = %v_3 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %4 = arith.mulf %p_4, %v_5 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32>
  %3 = attn.map (%r_4 = %r : !attn.array<[h, i, j], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %r_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %c = attn.reduce add over [j] %3 : <[h, i, d, j], f32> -> <[h, i, d], f32>
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
  attn.output "c" [h, i, d] %c as bf16 : <[h, i, d], f32>
}
