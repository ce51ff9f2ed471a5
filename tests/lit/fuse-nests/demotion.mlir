// The scores are computed inside the pass that folds them: d is inner, i is the row dim, and no nest
// stores an array over i and j.
//   s = sum(d, q * k)
//   p = softmax(j, s)
//   o[h,i,e] = sum(j, p * v)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK-NOT: red.nest
// CHECK:     red.nest grid [h] row [i] stream [j] inner [d, e] : !attn.array<[h, i, e], f32> {
// CHECK:       %[[S:.*]] = red.fold add over [d]
// CHECK:       red.fold max over [j](%[[S]])
// CHECK-NOT:   red.nest

attn.program @demotion dims [h, i, d = 16, j, e = 16] {
  %q = attn.input "q" : <[h, i, d], f32> loc("q")
  %k = attn.input "k" : <[h, j, d], f32> loc("k")
  %v = attn.input "v" : <[h, j, e], f32> loc("v")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], f32>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[h, i, d], f32>, %arg1 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %2 = arith.mulf %arg0, %arg1 : f32
    attn.yield %2 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %p = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], f32>) -> !attn.array<[h, j, e], f32> loc("v")
  %1 = attn.map (%arg0 = %p : !attn.array<[h, i, j], f32>, %arg1 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %2 = arith.mulf %arg0, %arg1 : f32
    attn.yield %2 : f32
  }
  %o = attn.reduce add over [j] %1 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as f32 : <[h, i, e], f32> loc("o")
}
