// With `or`, the hull of both intervals; a tile is full if either condition holds on all of it.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(j <= i or j < prefix, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[P:.*]] = red.scalar %prefix
// CHECK:       %[[ONE:.*]] = arith.constant 1
// CHECK:       %[[PLAST:.*]] = arith.subi %[[P]], %[[ONE]]
// CHECK:       %[[END:.*]] = arith.addi %[[I1]], %[[ONE]]
// CHECK:       %[[PEND:.*]] = arith.addi %[[PLAST]], %[[ONE]]
// CHECK:       %[[MAX:.*]] = arith.maxsi %[[END]], %[[PEND]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[HI:.*]] = arith.minsi %[[MAX]], %[[N]]
// CHECK:       %[[D:.*]] = arith.subi %[[I0]], %[[J1]]
// CHECK:       %[[A:.*]] = arith.cmpi sge, %[[D]], %[[ZERO]]
// CHECK:       %[[E:.*]] = arith.subi %[[PLAST]], %[[J1]]
// CHECK:       %[[B:.*]] = arith.cmpi sge, %[[E]], %[[ZERO]]
// CHECK:       %[[FULL:.*]] = arith.ori %[[A]], %[[B]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[HI]]) full %[[FULL]]

attn.program @prefix dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %0 = attn.map () -> !attn.array<[], i64> {
    %c32_i64 = arith.constant 32 : i64
    attn.yield %c32_i64 : i64
  }
  %prefix = attn.param "prefix" default %0 : !attn.array<[], i64> {lower = 0.000000e+00 : f64} -> <[], i64> loc("prefix")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %1 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %5 = arith.mulf %arg0, %arg1 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %1 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %2 = attn.index j : <[j], i64>
  %3 = attn.index i : <[i], i64>
  %4 = attn.map (%arg0 = %2 : !attn.array<[j], i64>, %arg1 = %3 : !attn.array<[i], i64>, %arg2 = %prefix : !attn.array<[], i64>, %arg3 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %5 = arith.cmpi sle, %arg0, %arg1 : i64
    %6 = arith.cmpi slt, %arg0, %arg2 : i64
    %7 = arith.ori %5, %6 : i1
    %cst = arith.constant 0xFF800000 : f32
    %8 = arith.select %7, %arg3, %cst : f32
    attn.yield %8 : f32
  }
  %lse = attn.reduce logsumexp over [j] %4 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
