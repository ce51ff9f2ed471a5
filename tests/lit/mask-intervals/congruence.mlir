// Every twelfth key. A tile is live if the range of i - j over it holds a multiple of 12: its smallest
// value is one, or the next one is not beyond its largest.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where((i - j) % 12 == 0, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = red.scalar
// CHECK:       %[[TWELVE:.*]] = arith.constant 12
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[MOST:.*]] = arith.subi %[[I1]], %[[J0]]
// CHECK:       %[[LEAST:.*]] = arith.subi %[[I0]], %[[J1]]
// CHECK:       %[[Q:.*]] = arith.floordivsi %[[LEAST]], %[[TWELVE]]
// CHECK:       %[[BASE:.*]] = arith.muli %[[Q]], %[[TWELVE]]
// CHECK:       %[[RESIDUE:.*]] = arith.subi %[[LEAST]], %[[BASE]]
// CHECK:       %[[ISZERO:.*]] = arith.subi %[[ZERO]], %[[RESIDUE]]
// CHECK:       %[[FIRST:.*]] = arith.cmpi sge, %[[ISZERO]], %[[ZERO]]
// CHECK:       %[[STEP:.*]] = arith.subi %[[TWELVE]], %[[RESIDUE]]
// CHECK:       %[[NEXT:.*]] = arith.addi %[[LEAST]], %[[STEP]]
// CHECK:       %[[ROOM:.*]] = arith.subi %[[MOST]], %[[NEXT]]
// CHECK:       %[[WITHIN:.*]] = arith.cmpi sge, %[[ROOM]], %[[ZERO]]
// CHECK:       %[[LIVE:.*]] = arith.ori %[[FIRST]], %[[WITHIN]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[SIZE]]) full {{.*}} live %[[LIVE]]

attn.program @dilated dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_2 = %q_0 : !attn.array<[i, d], f32>, %k_3 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %q_2, %k_3 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %1 = attn.index i : <[i], i64>
  %2 = attn.index j : <[j], i64>
  %3 = attn.map (%arg0 = %1 : !attn.array<[i], i64>, %arg1 = %2 : !attn.array<[j], i64>, %s_2 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %4 = arith.subi %arg0, %arg1 : i64
    %c12_i64 = arith.constant 12 : i64
    %5 = attn.mod %4, %c12_i64 : i64
    %c0_i64 = arith.constant 0 : i64
    %6 = arith.cmpi eq, %5, %c0_i64 : i64
    %cst = arith.constant 0xFF800000 : f32
    %7 = arith.select %6, %s_2, %cst : f32
    attn.yield %7 : f32
  }
  %lse = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32>
}
