// A sum over rows and a static number of keys: the keys are folded in the tile, and what is folded over
// them in another pass is no state of this one.
//   p = w / sum(j, w)
//   c = sum((i, j), p * s)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:     red.nest grid [] row [] stream [i] inner [j]
// CHECK:       %[[TILE:.*]] = red.fold add over [j]
// CHECK-SAME:    -> !attn.array<[i], f32>
// CHECK:       red.fold add over [i](%[[TILE]])

attn.program @inner_dims_first dims [i, j = 3] attributes {attn.reference = {i = 9 : i64}} {
  %0 = attn.input "s" : <[i, j], f32>
  %1 = attn.read %0 [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %2 = attn.map (%arg0 = %1 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %7 = arith.mulf %arg0, %arg0 : f32
    attn.yield %7 : f32
  }
  %3 = attn.reduce add over [j] %2 : <[i, j], f32> -> <[i], f32>
  %4 = attn.map (%arg0 = %2 : !attn.array<[i, j], f32>, %arg1 = %3 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %7 = arith.divf %arg0, %arg1 : f32
    attn.yield %7 : f32
  }
  %5 = attn.map (%arg0 = %4 : !attn.array<[i, j], f32>, %arg1 = %1 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %7 = arith.mulf %arg0, %arg1 : f32
    attn.yield %7 : f32
  }
  %6 = attn.reduce add over [i, j] %5 : <[i, j], f32> -> <[], f32>
  attn.output "c" [] %6 as f32 : <[], f32>
}
