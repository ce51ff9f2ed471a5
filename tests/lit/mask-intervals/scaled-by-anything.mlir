// Below a scale of unknown sign it does not: -inf * -1 is no empty weight.
//   s = where(j <= i, sum(d, q * k), -inf) * scale
//   lse = logsumexp(j, s)
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[D:.*]] = arith.subi %[[I0]], %[[J1]]
// CHECK:       %[[FULL:.*]] = arith.cmpi sge, %[[D]], %[[ZERO]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[N]]) full %[[FULL]]

attn.program @scaled_by_anything dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %0 = attn.map () -> !attn.array<[], f32> {
    %cst = arith.constant 2.500000e-01 : f32
    attn.yield %cst : f32
  }
  %scale = attn.param "scale" default %0 : !attn.array<[], f32> -> <[], f32> loc("scale")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %3 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %5 = arith.mulf %arg0, %arg1 : f32
    attn.yield %5 : f32
  }
  %4 = attn.reduce add over [d] %3 : <[i, d, j], f32> -> <[i, j], f32>
  %s = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[i], i64>, %arg2 = %4 : !attn.array<[i, j], f32>, %arg3 = %scale : !attn.array<[], f32>) -> !attn.array<[i, j], f32> {
    %5 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0xFF800000 : f32
    %6 = arith.select %5, %arg2, %cst : f32
    %7 = arith.mulf %6, %arg3 : f32
    attn.yield %7 : f32
  } loc("s")
  %lse = attn.reduce logsumexp over [j] %s : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
