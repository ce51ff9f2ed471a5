// A scale inside a contraction is taken out of the sum, which keeps one factor for each operand.
//   s = sum(d, q * k * scale)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [i, j] row [] stream [] inner [d]
// CHECK:       %[[Q:.*]] = attn.read %q [i, d]
// CHECK:       %[[K:.*]] = attn.read %k [j, d]
// CHECK:       %[[S:.*]] = red.fold add over [d](%[[Q]], %[[K]])
// CHECK:       attn.map ({{.*}} = %[[S]] : {{.*}} = %scale :
// CHECK:         arith.mulf

attn.program @scale_outside dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %0 = attn.map () -> !attn.array<[], f32> {
    %cst = arith.constant 2.500000e-01 : f32
    attn.yield %cst : f32
  }
  %scale = attn.param "scale" default %0 : !attn.array<[], f32> {lower = 0.000000e+00 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %1 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>, %arg2 = %scale : !attn.array<[], f32>) -> !attn.array<[i, d, j], f32> {
    %2 = arith.mulf %arg0, %arg1 : f32
    %3 = arith.mulf %2, %arg2 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %1 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  attn.output "s" [i, j] %s as f32 : <[i, j], f32> loc("s")
}
