// A condition on the rows alone: all keys or none.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(i >= 8, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[C:.*]] = arith.constant -8
// CHECK:       %[[LAST:.*]] = arith.addi %[[I1]], %[[C]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[ANY:.*]] = arith.cmpi sge, %[[LAST]], %[[ZERO]]
// CHECK:       %[[ALL:.*]] = arith.constant 9223372036854775807
// CHECK:       %[[END:.*]] = arith.select %[[ANY]], %[[ALL]], %[[ZERO]]
// CHECK:       %[[HI:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK:       %[[FIRST:.*]] = arith.addi %[[I0]], %[[C]]
// CHECK:       %[[FULL:.*]] = arith.cmpi sge, %[[FIRST]], %[[ZERO]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[HI]]) full %[[FULL]]

attn.program @rows dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %3 = arith.mulf %arg0, %arg1 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %1 = attn.index i : <[i], i64>
  %2 = attn.map (%arg0 = %1 : !attn.array<[i], i64>, %arg1 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %c8_i64 = arith.constant 8 : i64
    %3 = arith.cmpi sge, %arg0, %c8_i64 : i64
    %cst = arith.constant 0xFF800000 : f32
    %4 = arith.select %3, %arg1, %cst : f32
    attn.yield %4 : f32
  }
  %lse = attn.reduce logsumexp over [j] %2 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
