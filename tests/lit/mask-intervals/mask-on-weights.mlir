// where(mask, p, 0) leaves the denominator alone, so no tile is skipped; full tiles still need no mask.
//   s = sum(d, q * k)
//   p = softmax(j, s)
//   o[i,e] = sum(j, where(j <= i, p, 0) * v)
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     domain {
// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %[[J0:.*]]: i64, %[[J1:.*]]: i64):
// CHECK:       %[[SIZE:.*]] = attn.size j
// CHECK:       %[[N:.*]] = red.scalar %[[SIZE]]
// CHECK:       %[[ZERO:.*]] = arith.constant 0
// CHECK:       %[[D:.*]] = arith.subi %[[I0]], %[[J1]]
// CHECK:       %[[FULL:.*]] = arith.cmpi sge, %[[D]], %[[ZERO]]
// CHECK:       red.bounds lo(%[[ZERO]]) hi(%[[N]]) full %[[FULL]]

attn.program @mask_on_weights dims [i, d = 16, j, e = 16] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %arg0, %arg1 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s : <[i, j], f32> -> <[i, j], f32> loc("p")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %v_2 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %3 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[i], i64>, %arg2 = %p : !attn.array<[i, j], f32>, %arg3 = %v_2 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %4 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %5 = arith.select %4, %arg2, %cst : f32
    %6 = arith.mulf %5, %arg3 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %3 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
