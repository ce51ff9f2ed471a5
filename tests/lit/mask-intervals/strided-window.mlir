// A step along the stream rounds its lower bound up and its upper bound down; `not` turns the
// comparison round.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(2 * j >= i + 1 and not (5 * j > 7 * i), s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[MOST:.*]] = arith.subi %{{.*}}, %[[I0]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[NEED:.*]] = arith.subi %[[ZERO]], %[[MOST]]
// CHECK:       %[[TWO:.*]] = arith.constant 2
// CHECK:       %[[LESS:.*]] = arith.subi %[[ZERO]], %[[NEED]]
// CHECK:       %[[HALF:.*]] = arith.floordivsi %[[LESS]], %[[TWO]]
// CHECK:       %[[BEGIN:.*]] = arith.subi %[[ZERO]], %[[HALF]]
// CHECK:       %[[SEVEN:.*]] = arith.constant 7
// CHECK:       %[[A:.*]] = arith.muli %[[I1]], %[[SEVEN]]
// CHECK:       %[[FIVE:.*]] = arith.constant 5
// CHECK:       %[[LAST:.*]] = arith.floordivsi %[[A]], %[[FIVE]]
// CHECK:       %[[END:.*]] = arith.addi %[[LAST]], %{{.*}}
// CHECK:       %[[LO:.*]] = arith.maxsi %[[BEGIN]], %[[ZERO]]
// CHECK:       %[[HI:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK:       arith.muli %[[J0]], %[[TWO]]
// CHECK:       arith.muli %[[I0]], %[[SEVEN]]
// CHECK:       arith.muli %[[J1]], %{{.*}}
// CHECK:       %[[FULL:.*]] = arith.andi
// CHECK:       red.bounds lo(%[[LO]]) hi(%[[HI]]) full %[[FULL]]

attn.program @strided_window dims [i, d = 16, j] {
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
    %c2_i64 = arith.constant 2 : i64
    %4 = arith.muli %c2_i64, %arg0 : i64
    %c1_i64 = arith.constant 1 : i64
    %5 = arith.addi %arg1, %c1_i64 : i64
    %6 = arith.cmpi sge, %4, %5 : i64
    %c5_i64 = arith.constant 5 : i64
    %7 = arith.muli %c5_i64, %arg0 : i64
    %c7_i64 = arith.constant 7 : i64
    %8 = arith.muli %c7_i64, %arg1 : i64
    %9 = arith.cmpi sgt, %7, %8 : i64
    %true = arith.constant true
    %10 = arith.xori %9, %true : i1
    %11 = arith.andi %6, %10 : i1
    %cst = arith.constant 0xFF800000 : f32
    %12 = arith.select %11, %arg2, %cst : f32
    attn.yield %12 : f32
  }
  %lse = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
