// Softmax and a weighted sum are one pass with three states; 1/sum is applied after it.
//   p = softmax(j, s)
//   o[i,e] = sum(j, p * v)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(%[[S]] - %[[M]])
// CHECK:       %[[V:.*]] = attn.read %v [j, e]
// CHECK:       %[[O:.*]] = red.fold add over [j](%[[V]]) exp(%[[S]] - %[[M]])
// CHECK-NOT:   red.fold
// CHECK-NOT:   red.nest

attn.program @softmax_sugar dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>, %arg1 = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
