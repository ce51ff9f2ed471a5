// A sum over two streams is taken in turn: over j in the pass that makes the weights, which has rows,
// then over these. What does not vary along j waits for the second one.
//   p = softmax(j, sum(d, q * k))
//   o[h,i,e] = sum(j, p * v)
//   c[h] = sum((i, j), p * w)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     %[[O:.*]]:3 = red.nest grid [h] row [i] stream [j] inner [d, e]
// CHECK:     red.nest grid [] row [h] stream [i] inner []
// CHECK:       %[[SUM:.*]] = attn.read %[[O]]#2 [h, i]
// CHECK:       red.fold add over [i]({{.*}}%[[SUM]]
// CHECK-NOT: red.nest
attn.program @streams_in_turn dims [h, i, d = 16, j, e = 8] {
  %q = attn.input "q" : <[h, i, d], f32>
  %k = attn.input "k" : <[h, j, d], f32>
  %v = attn.input "v" : <[h, j, e], f32>
  %w = attn.input "w" : <[h, i], f32>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], f32>) -> !attn.array<[h, d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.softmax over [j] %1 : <[h, i, j], f32> -> <[h, i, j], f32>
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], f32>) -> !attn.array<[h, j, e], f32>
  %2 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %v_5 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %4 = arith.mulf %p_4, %v_5 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32>
  %w_3 = attn.read %w [h, i] : (!attn.array<[h, i], f32>) -> !attn.array<[h, i], f32>
  %3 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %w_5 = %w_3 : !attn.array<[h, i], f32>) -> !attn.array<[h, i, j], f32> {
    %4 = arith.mulf %p_4, %w_5 : f32
    attn.yield %4 : f32
  }
  %c = attn.reduce add over [i, j] %3 : <[h, i, j], f32> -> <[h], f32>
  attn.output "o" [h, i, e] %o as f32 : <[h, i, e], f32>
  attn.output "c" [h] %c as f32 : <[h], f32>
}
