// A condition on data bounds nothing: no domain, and the select is always evaluated.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(s > 0, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     red.nest
// CHECK:     arith.select
// CHECK-NOT: red.full
// CHECK-NOT: domain

attn.program @data_condition dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %2 = arith.mulf %arg0, %arg1 : f32
    attn.yield %2 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %1 = attn.map (%arg0 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %2 = arith.cmpf ogt, %arg0, %cst : f32
    %cst_2 = arith.constant 0xFF800000 : f32
    %3 = arith.select %2, %arg0, %cst_2 : f32
    attn.yield %3 : f32
  }
  %lse = attn.reduce logsumexp over [j] %1 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
