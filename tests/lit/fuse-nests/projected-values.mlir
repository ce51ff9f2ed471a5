// Values that are projections of what all heads share are no values of pairs, though they have a row
// for each key and head: weights of them have rows of queries, and stay in the pass.
//   p = softmax(j, sum(d, q * sum(c, latent * wk))), o[h,i,e] = sum(j, p * sum(c, latent * wv))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK-COUNT-2: red.nest grid [h] row [j] stream [c]
// CHECK:         red.nest grid [h] row [i] stream [j] inner [d, e]
// CHECK-NOT:     red.nest

attn.program @projected dims [h, i, d = 16, j, c = 32, e = 24] {
  %q = attn.input "q" : <[h, i, d], f32>
  %latent = attn.input "latent" : <[j, c], f32>
  %wk = attn.input "wk" : <[h, c, d], f32>
  %wv = attn.input "wv" : <[h, c, e], f32>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d], f32>
  %latent_1 = attn.read %latent [j, c] : (!attn.array<[j, c], f32>) -> !attn.array<[j, c], f32>
  %wk_2 = attn.read %wk [h, c, d] : (!attn.array<[h, c, d], f32>) -> !attn.array<[h, d, c], f32>
  %0 = attn.map (%latent_4 = %latent_1 : !attn.array<[j, c], f32>, %wk_5 = %wk_2 : !attn.array<[h, d, c], f32>) -> !attn.array<[h, d, j, c], f32> {
    %7 = arith.mulf %latent_4, %wk_5 : f32
    attn.yield %7 : f32
  }
  %1 = attn.reduce add over [c] %0 : <[h, d, j, c], f32> -> <[h, d, j], f32>
  %2 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %arg1 = %1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %7 = arith.mulf %q_4, %arg1 : f32
    attn.yield %7 : f32
  }
  %3 = attn.reduce add over [d] %2 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.softmax over [j] %3 : <[h, i, j], f32> -> <[h, i, j], f32>
  %wv_3 = attn.read %wv [h, c, e] : (!attn.array<[h, c, e], f32>) -> !attn.array<[h, c, e], f32>
  %4 = attn.map (%latent_4 = %latent_1 : !attn.array<[j, c], f32>, %wv_5 = %wv_3 : !attn.array<[h, c, e], f32>) -> !attn.array<[h, j, c, e], f32> {
    %7 = arith.mulf %latent_4, %wv_5 : f32
    attn.yield %7 : f32
  }
  %5 = attn.reduce add over [c] %4 : <[h, j, c, e], f32> -> <[h, j, e], f32>
  %6 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %arg1 = %5 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %7 = arith.mulf %p_4, %arg1 : f32
    attn.yield %7 : f32
  }
  %o = attn.reduce add over [j] %6 : <[h, i, j, e], f32> -> <[h, i, e], f32>
  attn.output "o" [h, i, e] %o as f32 : <[h, i, e], f32>
}
