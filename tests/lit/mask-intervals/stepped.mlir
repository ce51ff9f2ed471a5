// 3 j <= 100 - 2 i is j <= floor((100 - 2 i) / 3): the smallest row bounds the keys, the largest row
// decides whether the tile is full.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(3 * j <= 100 - 2 * i, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[HUNDRED:.*]] = arith.constant 100
// CHECK:       %[[MINUS2:.*]] = arith.constant -2
// CHECK:       %[[A:.*]] = arith.muli %[[I0]], %[[MINUS2]]
// CHECK:       %[[MOST:.*]] = arith.addi %[[A]], %[[HUNDRED]]
// CHECK:       %[[THREE:.*]] = arith.constant 3
// CHECK:       %[[LAST:.*]] = arith.floordivsi %[[MOST]], %[[THREE]]
// CHECK:       %[[ONE:.*]] = arith.constant 1
// CHECK:       %[[END:.*]] = arith.addi %[[LAST]], %[[ONE]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[HI:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK:       %[[B:.*]] = arith.muli %[[I1]], %[[MINUS2]]
// CHECK:       %[[LEAST:.*]] = arith.addi %[[B]], %[[HUNDRED]]
// CHECK:       %[[MINUS3:.*]] = arith.constant -3
// CHECK:       %[[C:.*]] = arith.muli %[[J1]], %[[MINUS3]]
// CHECK:       %[[SUM:.*]] = arith.addi %[[LEAST]], %[[C]]
// CHECK:       %[[FULL:.*]] = arith.cmpi sge, %[[SUM]], %[[ZERO]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[HI]]) full %[[FULL]]

attn.program @stepped dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %arg0, %arg1 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[i], i64>, %arg2 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %c3_i64 = arith.constant 3 : i64
    %4 = arith.muli %c3_i64, %arg0 : i64
    %c100_i64 = arith.constant 100 : i64
    %c2_i64 = arith.constant 2 : i64
    %5 = arith.muli %c2_i64, %arg1 : i64
    %6 = arith.subi %c100_i64, %5 : i64
    %7 = arith.cmpi sle, %4, %6 : i64
    %cst = arith.constant 0xFF800000 : f32
    %8 = arith.select %7, %arg2, %cst : f32
    attn.yield %8 : f32
  }
  %lse = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
