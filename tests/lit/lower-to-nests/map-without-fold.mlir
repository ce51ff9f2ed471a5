// An output that is computed element by element is a nest without a stream.
//   a[i,j] = tanh(s)
// RUN: %through-lower-to-nests %s | FileCheck %s

// CHECK:     %[[A:.*]] = red.nest grid [i, j] row [] stream [] inner [] : !attn.array<[i, j], f32> {
// CHECK:       attn.read %s [i, j]
// CHECK:       %[[X:.*]] = attn.map
// CHECK:         math.tanh
// CHECK:       red.yield %[[X]]
// CHECK:     attn.output "a" [i, j] %[[A]]

attn.program @map_without_fold dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %a = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %0 = math.tanh %arg0 : f32
    attn.yield %0 : f32
  } loc("a")
  attn.output "a" [i, j] %a as f32 : <[i, j], f32> loc("a")
}
