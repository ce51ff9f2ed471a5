// So does a commuted spelling, with the division inside the sum.
//   m = max(j, s)
//   w = exp(-m + s)
//   z = sum(j, w)
//   o[i,e] = sum(j, v * (w / z))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(%[[S]] - %[[M]])
// CHECK:       %[[V:.*]] = attn.read %v [j, e]
// CHECK:       %[[O:.*]] = red.fold add over [j](%[[V]]) exp(%[[S]] - %[[M]])
// CHECK-NOT:   red.fold
// CHECK-NOT:   red.nest

attn.program @softmax_commuted dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %w = attn.map (%arg0 = %m : !attn.array<[i], f32>, %arg1 = %s_0 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %1 = arith.negf %arg0 : f32
    %2 = arith.addf %1, %arg1 : f32
    %3 = math.exp %2 : f32
    attn.yield %3 : f32
  } loc("w")
  %z = attn.reduce add over [j] %w : <[i, j], f32> -> <[i], f32> loc("z")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%arg0 = %v_1 : !attn.array<[j, e], f32>, %arg1 = %w : !attn.array<[i, j], f32>, %arg2 = %z : !attn.array<[i], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.divf %arg1, %arg2 : f32
    %2 = arith.mulf %arg0, %1 : f32
    attn.yield %2 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
