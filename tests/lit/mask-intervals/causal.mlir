// A tile of rows i0..i1 sees keys 0..i1; it needs no mask where the tile's last key is at most i0.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(j <= i, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     arith.select {{.*}} {red.full = true}
// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[ONE:.*]] = arith.constant 1
// CHECK:       %[[END:.*]] = arith.addi %[[I1]], %[[ONE]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[HI:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK:       %[[D:.*]] = arith.subi %[[I0]], %[[J1]]
// CHECK:       %[[FULL:.*]] = arith.cmpi sge, %[[D]], %[[ZERO]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[HI]]) full %[[FULL]]

attn.program @causal dims [i, d = 16, j] {
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
    %4 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0xFF800000 : f32
    %5 = arith.select %4, %arg2, %cst : f32
    attn.yield %5 : f32
  }
  %lse = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
