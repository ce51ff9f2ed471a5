// Floor divisions of the row index: their range over the tile's rows enters the bounds.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(j <= i // 4 * 4 + 3, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[FOUR:.*]] = arith.constant 4
// CHECK:       %[[B0:.*]] = arith.floordivsi %[[I0]], %[[FOUR]]
// CHECK:       %[[B1:.*]] = arith.floordivsi %[[I1]], %[[FOUR]]
// CHECK:       %[[R0:.*]] = arith.muli %[[B0]], %[[FOUR]]
// CHECK:       %[[R1:.*]] = arith.muli %[[B1]], %[[FOUR]]
// CHECK:       %[[THREE:.*]] = arith.constant 3
// CHECK:       %[[LEAST:.*]] = arith.addi %[[R0]], %[[THREE]]
// CHECK:       %[[LAST:.*]] = arith.addi %[[R1]], %[[THREE]]
// CHECK:       %[[END:.*]] = arith.addi %[[LAST]], %{{.*}}
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[HI:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK:       %[[D:.*]] = arith.subi %[[LEAST]], %[[J1]]
// CHECK:       %[[FULL:.*]] = arith.cmpi sge, %[[D]], %[[ZERO]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[HI]]) full %[[FULL]]

attn.program @row_blocks dims [i, d = 16, j] {
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
    %c4_i64 = arith.constant 4 : i64
    %4 = arith.floordivsi %arg1, %c4_i64 : i64
    %c4_i64_2 = arith.constant 4 : i64
    %5 = arith.muli %4, %c4_i64_2 : i64
    %c3_i64 = arith.constant 3 : i64
    %6 = arith.addi %5, %c3_i64 : i64
    %7 = arith.cmpi sle, %arg0, %6 : i64
    %cst = arith.constant 0xFF800000 : f32
    %8 = arith.select %7, %arg2, %cst : f32
    attn.yield %8 : f32
  }
  %lse = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
