// A tile is skipped only where every state stays at its identity: the hull of both masks. It is full
// where both hold.
//   s = sum(d, q * k)
//   a = logsumexp(j, where(j <= i, s, -inf))
//   b = logsumexp(j, where(j < 8, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[END:.*]] = arith.addi %[[I1]], %{{.*}}
// CHECK:       %[[EIGHT:.*]] = arith.constant 8
// CHECK:       %[[MAX:.*]] = arith.maxsi %[[END]], %[[EIGHT]]
// CHECK:       %[[HI:.*]] = arith.minsi %{{.*}}, %[[N]]
// CHECK:       %[[D:.*]] = arith.subi %[[I0]], %[[J1]]
// CHECK:       %[[A:.*]] = arith.cmpi sge, %[[D]]
// CHECK:       %[[E:.*]] = arith.subi %{{.*}}, %[[J1]]
// CHECK:       %[[B:.*]] = arith.cmpi sge, %[[E]]
// CHECK:       %[[FULL:.*]] = arith.andi %[[A]], %[[B]]
// CHECK:       red.bounds lo(%{{.*}}) hi(%[[HI]]) full %[[FULL]]

attn.program @two_masks dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %5 = arith.mulf %arg0, %arg1 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[i], i64>, %arg2 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %5 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0xFF800000 : f32
    %6 = arith.select %5, %arg2, %cst : f32
    attn.yield %6 : f32
  }
  %a = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("a")
  %4 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %c8_i64 = arith.constant 8 : i64
    %5 = arith.cmpi slt, %arg0, %c8_i64 : i64
    %cst = arith.constant 0xFF800000 : f32
    %6 = arith.select %5, %arg1, %cst : f32
    attn.yield %6 : f32
  }
  %b = attn.reduce logsumexp over [j] %4 : <[i, j], f32> -> <[i], f32> loc("b")
  attn.output "a" [i] %a as f32 : <[i], f32> loc("a")
  attn.output "b" [i] %b as f32 : <[i], f32> loc("b")
}
