// A centre follows from sums and extrema: what differs from a moment starts another pass.
//   c = sum(j, (s - mean(j, s)) ** 2)
//   r = sum(j, s * s - c)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [i] row [] stream [j] inner []
// CHECK:       moment(
// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK-NOT:   moment(
// CHECK:     {{.*}}property = "the centre of a moment has to follow from sums and extrema of the pass, element by element"

attn.program @centre_of_moments dims [i, j] attributes {attn.reference = {i = 9 : i64, j = 9 : i64}} {
  %0 = attn.input "s" : <[i, j], f32>
  %1 = attn.read %0 [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %2 = attn.reduce mean over [j] %1 : <[i, j], f32> -> <[i], f32>
  %3 = attn.map (%arg0 = %1 : !attn.array<[i, j], f32>, %arg1 = %2 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %7 = attn.sub %arg0, %arg1 : f32
    %8 = arith.mulf %7, %7 : f32
    attn.yield %8 : f32
  }
  %4 = attn.reduce add over [j] %3 : <[i, j], f32> -> <[i], f32>
  %5 = attn.map (%arg0 = %1 : !attn.array<[i, j], f32>, %arg1 = %4 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %7 = arith.mulf %arg0, %arg0 : f32
    %8 = attn.sub %7, %arg1 : f32
    attn.yield %8 : f32
  }
  %6 = attn.reduce add over [j] %5 : <[i, j], f32> -> <[i], f32>
  attn.output "r" [i] %6 as f32 : <[i], f32>
}
