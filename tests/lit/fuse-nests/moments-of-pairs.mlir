// The mean of values of pairs that is the centre of their variance is found in one pass with it.
//   m[h,i,c] = sum(j, p * z), v[h,i,c] = sum(j, p * (z - m) ** 2)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [h] row [i] stream [j] inner [d, c]
// CHECK-NOT: red.nest

attn.program @moments dims [h, i, d = 16, j, c = 8] {
  %q = attn.input "q" : <[h, i, d], f32>
  %k = attn.input "k" : <[h, j, d], f32>
  %z = attn.input "z" : <[i, j, c], f32>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], f32>) -> !attn.array<[h, d, j], f32>
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_3, %k_4 : f32
    attn.yield %4 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.softmax over [j] %1 : <[h, i, j], f32> -> <[h, i, j], f32>
  %z_2 = attn.read %z [i, j, c] : (!attn.array<[i, j, c], f32>) -> !attn.array<[i, j, c], f32>
  %2 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %z_4 = %z_2 : !attn.array<[i, j, c], f32>) -> !attn.array<[h, i, j, c], f32> {
    %4 = arith.mulf %p_3, %z_4 : f32
    attn.yield %4 : f32
  }
  %m = attn.reduce add over [j] %2 : <[h, i, j, c], f32> -> <[h, i, c], f32>
  %3 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %z_4 = %z_2 : !attn.array<[i, j, c], f32>, %m_5 = %m : !attn.array<[h, i, c], f32>) -> !attn.array<[h, i, j, c], f32> {
    %4 = attn.sub %z_4, %m_5 : f32
    %5 = arith.mulf %4, %4 : f32
    %6 = arith.mulf %p_3, %5 : f32
    attn.yield %6 : f32
  }
  %v = attn.reduce add over [j] %3 : <[h, i, j, c], f32> -> <[h, i, c], f32>
  attn.output "m" [h, i, c] %m as f32 : <[h, i, c], f32>
  attn.output "v" [h, i, c] %v as f32 : <[h, i, c], f32>
}
