// A nest without conditions gets no domain.
//   s = sum(d, q * k)
//   lse = logsumexp(j, s)
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     red.nest
// CHECK-NOT: domain

attn.program @no_mask dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    attn.yield %1 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %lse = attn.reduce logsumexp over [j] %s : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
