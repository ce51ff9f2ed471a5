// A sum whose factor is an earlier sum: the factor is applied after the stream, and the sum that is
// left is the earlier one.
//   z[i] = sum(j, s)
//   o[i] = sum(j, s * (z + 1))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[Z:.*]] = red.fold add over [j]
// CHECK-NOT:   red.fold
// CHECK:       %[[FACTOR:.*]] = attn.map (%{{.*}} = %[[Z]] :
// CHECK:         arith.addf
// CHECK:       attn.map (%[[X:.*]] = %[[Z]] : {{.*}}, %[[Y:.*]] = %[[FACTOR]] :
// CHECK:         arith.mulf %[[X]], %[[Y]]
// CHECK-NOT:   red.nest

attn.program @sum_times_sum dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %z = attn.reduce add over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("z")
  %0 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %z : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %cst = arith.constant 1.000000e+00 : f32
    %1 = arith.addf %arg1, %cst : f32
    %2 = arith.mulf %arg0, %1 : f32
    attn.yield %2 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
