// Rows of which the result is no state: a tile that has none but these visits nothing. In a tile that
// also has others the states of all rows are folded.
//   s = sum(d, q * k)
//   o = where(i < size(j), sum(j, s), 0)
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK-DAG:   %[[ONE:.*]] = arith.constant 1
// CHECK-DAG:   %[[ZERO:.*]] = arith.constant 0
// CHECK-DAG:   %[[LAST:.*]] = arith.subi %[[N]], %[[ONE]]
// CHECK-DAG:   %[[LEFT:.*]] = arith.subi %[[LAST]], %[[I0]]
// CHECK-DAG:   %[[SOME:.*]] = arith.cmpi sge, %[[LEFT]], %[[ZERO]]
// CHECK:       %[[ALL:.*]] = arith.select %[[SOME]], %{{.*}}, %[[ZERO]]
// CHECK:       %[[HI:.*]] = arith.minsi %[[ALL]], %[[N]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[HI]])

attn.program @used_rows dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %arg0, %arg1 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %largest = attn.reduce max over [j] %s : <[i, j], f32> -> <[i], f32> loc("largest")
  %1 = attn.size j : <[], i64>
  %2 = attn.index i : <[i], i64>
  %o = attn.map (%arg0 = %1 : !attn.array<[], i64>, %arg1 = %2 : !attn.array<[i], i64>, %arg2 = %largest : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %7 = arith.cmpi slt, %arg1, %arg0 : i64
    %cst = arith.constant 0.0 : f32
    %8 = arith.select %7, %arg2, %cst : f32
    attn.yield %8 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
