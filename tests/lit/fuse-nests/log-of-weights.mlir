// The logarithm of a normalised weight is a difference, s - m - log z: a moment, as in entropy.mlir.
//   p = softmax(j, s)
//   h = sum(j, p * log(p))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(%[[S]] - %[[M]])
// CHECK:       red.fold add over [j]() exp(%[[S]] - %[[M]]) moment(%[[S]] - %{{.*}}) above(%[[Z]])
// CHECK-NOT:   red.nest

attn.program @log_of_weights dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %1 = math.log %arg0 : f32
    %2 = arith.mulf %arg0, %1 : f32
    attn.yield %2 : f32
  }
  %h = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("h")
  attn.output "h" [i] %h as f32 : <[i], f32> loc("h")
}
