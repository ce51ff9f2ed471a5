// Sums of values of pairs of positions are passes of their own: rows of their products are heads.
// What they weigh with is stored: weights, which products give once more, or the scores that no
// product gives, which both passes read then.
//   o[h,i,e] = sum(j, p * v), m[h,i,c] = sum(j, p * z) with p = softmax(j, sum(d, q * k))
//   n[h,i,c] = sum(j, r * z) with r = softmax(j, sum(d, q * k) - sum(x, abs(y - f)))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     %[[SCORES:.*]] = red.nest grid [h, i, j] row [] stream [] inner [d, x]
// CHECK:     %[[PASS:.*]]:5 = red.nest grid [h] row [i] stream [j] inner [d, e]
// CHECK:       attn.read %[[SCORES]] [h, i, j]
// CHECK:     %[[WEIGHTS:.*]] = red.nest grid [h, i, j] row [] stream [] inner [d]
// CHECK:       attn.read %[[PASS]]#
// CHECK:     red.nest grid [i] row [h] stream [j] inner [c]
// CHECK-DAG:   attn.read %[[SCORES]] [h, i, j]
// CHECK-DAG:   attn.read %[[WEIGHTS]] [h, i, j]

attn.program @pairs dims [h, i, d = 16, j, e = 8, c = 8, x = 3] {
  %q = attn.input "q" : <[h, i, d], bf16>
  %k = attn.input "k" : <[h, j, d], bf16>
  %v = attn.input "v" : <[h, j, e], bf16>
  %z = attn.input "z" : <[i, j, c], bf16>
  %y = attn.input "y" : <[i, x], f32>
  %f = attn.input "f" : <[j, x], f32>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %0 = attn.map (%q_6 = %q_0 : !attn.array<[h, i, d], f32>, %k_7 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %7 = arith.mulf %q_6, %k_7 : f32
    attn.yield %7 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32>
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32>
  %1 = attn.map (%p_6 = %p : !attn.array<[h, i, j], f32>, %v_7 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %7 = arith.mulf %p_6, %v_7 : f32
    attn.yield %7 : f32
  }
  %o = attn.reduce add over [j] %1 : <[h, i, j, e], f32> -> <[h, i, e], f32>
  %z_3 = attn.read %z [i, j, c] : (!attn.array<[i, j, c], bf16>) -> !attn.array<[i, j, c], f32>
  %2 = attn.map (%p_6 = %p : !attn.array<[h, i, j], f32>, %z_7 = %z_3 : !attn.array<[i, j, c], f32>) -> !attn.array<[h, i, j, c], f32> {
    %7 = arith.mulf %p_6, %z_7 : f32
    attn.yield %7 : f32
  }
  %m = attn.reduce add over [j] %2 : <[h, i, j, c], f32> -> <[h, i, c], f32>
  %y_4 = attn.read %y [i, x] : (!attn.array<[i, x], f32>) -> !attn.array<[i, x], f32>
  %f_5 = attn.read %f [j, x] : (!attn.array<[j, x], f32>) -> !attn.array<[j, x], f32>
  %3 = attn.map (%y_6 = %y_4 : !attn.array<[i, x], f32>, %f_7 = %f_5 : !attn.array<[j, x], f32>) -> !attn.array<[i, j, x], f32> {
    %7 = attn.sub %y_6, %f_7 : f32
    %8 = math.absf %7 : f32
    attn.yield %8 : f32
  }
  %4 = attn.reduce add over [x] %3 : <[i, j, x], f32> -> <[i, j], f32>
  %5 = attn.map (%s_6 = %s : !attn.array<[h, i, j], f32>, %arg1 = %4 : !attn.array<[i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %7 = attn.sub %s_6, %arg1 : f32
    attn.yield %7 : f32
  }
  %r = attn.softmax over [j] %5 : <[h, i, j], f32> -> <[h, i, j], f32>
  %6 = attn.map (%r_6 = %r : !attn.array<[h, i, j], f32>, %z_7 = %z_3 : !attn.array<[i, j, c], f32>) -> !attn.array<[h, i, j, c], f32> {
    %7 = arith.mulf %r_6, %z_7 : f32
    attn.yield %7 : f32
  }
  %n = attn.reduce add over [j] %6 : <[h, i, j, c], f32> -> <[h, i, c], f32>
  attn.output "o" [h, i, e] %o as f32 : <[h, i, e], f32>
  attn.output "m" [h, i, c] %m as f32 : <[h, i, c], f32>
  attn.output "n" [h, i, c] %n as f32 : <[h, i, c], f32>
}
