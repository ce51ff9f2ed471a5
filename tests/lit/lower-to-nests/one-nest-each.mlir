// Each reduction is a nest of its own; a nest reads what an earlier one stored.
//   s = sum(d, q * k)
//   t = max(j, s)
// RUN: %through-lower-to-nests %s | FileCheck %s

// CHECK:     %[[S:.*]] = red.nest grid [i] row [j] stream [d] inner [] : !attn.array<[i, j], f32> {
// CHECK:       %[[Q:.*]] = attn.read %q [i, d]
// CHECK:       %[[K:.*]] = attn.read %k [j, d]
// CHECK:       red.fold add over [d](%[[Q]], %[[K]])
// CHECK:     %[[T:.*]] = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
// CHECK:       %[[R:.*]] = attn.read %[[S]] [i, j]
// CHECK:       red.fold max over [j](%[[R]])
// CHECK:     attn.output "t" [i] %[[T]]

attn.program @one_nest_each dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%arg0 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    attn.yield %1 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %t = attn.reduce max over [j] %s : <[i, j], f32> -> <[i], f32> loc("t")
  attn.output "t" [i] %t as f32 : <[i], f32> loc("t")
}
