// A sum of a product has one factor for each operand; those that do not depend on the reduced dims
// are multiplied after the sum.
//   a[i] = sum(j, s * g * w)
// RUN: %through-lower-to-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[G:.*]] = attn.read %g [i]
// CHECK:       %[[W:.*]] = attn.read %w [j]
// CHECK:       %[[Z:.*]] = red.fold add over [j](%[[S]], %[[W]])
// CHECK:       attn.map ({{.*}} = %[[Z]] : {{.*}} = %[[G]] :
// CHECK:         arith.mulf

attn.program @product_of_three dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %g = attn.input "g" : <[i], f32> loc("g")
  %w = attn.input "w" : <[j], f32> loc("w")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %g_1 = attn.read %g [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32> loc("g")
  %w_2 = attn.read %w [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32> loc("w")
  %0 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %g_1 : !attn.array<[i], f32>, %arg2 = %w_2 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    %2 = arith.mulf %1, %arg2 : f32
    attn.yield %2 : f32
  }
  %a = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("a")
  attn.output "a" [i] %a as f32 : <[i], f32> loc("a")
}
