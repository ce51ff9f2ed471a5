// The diagonal ends at the last key: the sizes enter the bounds as scalars.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(j <= i + size(j) - size(i), s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SI:.*]] = attn.size i
// CHECK:       %[[M:.*]] = red.scalar %[[SI]]
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[SHIFT:.*]] = arith.subi %[[N]], %[[M]]
// CHECK:       %[[LAST:.*]] = arith.addi %[[SHIFT]], %[[I1]]
// CHECK:       %[[ONE:.*]] = arith.constant 1
// CHECK:       %[[END:.*]] = arith.addi %[[LAST]], %[[ONE]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[HI:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK:       %[[FIRST:.*]] = arith.addi %[[SHIFT]], %[[I0]]
// CHECK:       %[[D:.*]] = arith.subi %[[FIRST]], %[[J1]]
// CHECK:       %[[FULL:.*]] = arith.cmpi sge, %[[D]], %[[ZERO]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[HI]]) full %[[FULL]]

attn.program @bottom_right dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %6 = arith.mulf %arg0, %arg1 : f32
    attn.yield %6 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.size j : <[], i64>
  %4 = attn.size i : <[], i64>
  %5 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[i], i64>, %arg2 = %3 : !attn.array<[], i64>, %arg3 = %4 : !attn.array<[], i64>, %arg4 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %6 = arith.addi %arg1, %arg2 : i64
    %7 = arith.subi %6, %arg3 : i64
    %8 = arith.cmpi sle, %arg0, %7 : i64
    %cst = arith.constant 0xFF800000 : f32
    %9 = arith.select %8, %arg4, %cst : f32
    attn.yield %9 : f32
  }
  %lse = attn.reduce logsumexp over [j] %5 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
