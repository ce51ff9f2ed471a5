// A window and the first keys: the hull begins at the first key, and the tiles between the two are not
// live.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(abs(i - j) <= 8 or j < 4, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     arith.select {{.*}} {red.full = true}
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[EIGHT:.*]] = arith.constant 8
// CHECK:       %[[THREE:.*]] = arith.constant 3
// CHECK:       %[[BEFORE:.*]] = arith.subi %[[EIGHT]], %[[I0]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[AFTER:.*]] = arith.addi %[[I1]], %[[EIGHT]]
// CHECK:       %[[REACHES:.*]] = arith.addi %[[BEFORE]], %[[J1]]
// CHECK:       %[[R:.*]] = arith.cmpi sge, %[[REACHES]], %[[ZERO]]
// CHECK:       %[[BEGINS:.*]] = arith.subi %[[AFTER]], %[[J0]]
// CHECK:       %[[B:.*]] = arith.cmpi sge, %[[BEGINS]], %[[ZERO]]
// CHECK:       %[[WINDOW:.*]] = arith.andi %[[R]], %[[B]]
// CHECK:       %[[FIRST:.*]] = arith.subi %[[THREE]], %[[J0]]
// CHECK:       %[[GLOBAL:.*]] = arith.cmpi sge, %[[FIRST]], %[[ZERO]]
// CHECK:       %[[LIVE:.*]] = arith.ori %[[WINDOW]], %[[GLOBAL]]
// CHECK:       red.bounds lo({{.*}}) hi({{.*}}) full {{.*}} live %[[LIVE]]

attn.program @globalandwindow dims [i, d = 16, j] {
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
    %5 = math.absi %4 : i64
    %c8_i64 = arith.constant 8 : i64
    %6 = arith.cmpi sle, %5, %c8_i64 : i64
    %c4_i64 = arith.constant 4 : i64
    %7 = arith.cmpi slt, %arg1, %c4_i64 : i64
    %8 = arith.ori %6, %7 : i1
    %cst = arith.constant 0xFF800000 : f32
    %9 = arith.select %8, %s_2, %cst : f32
    attn.yield %9 : f32
  }
  %lse = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32>
}
