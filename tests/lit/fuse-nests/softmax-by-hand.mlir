// Softmax spelled out gives the nest that the sugar gives (softmax-sugar.mlir).
//   m = max(j, s)
//   w = exp(s - m)
//   z = sum(j, w)
//   o[i,e] = sum(j, w * v) * where(z == 0, 0, 1/z)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(%[[S]] - %[[M]])
// CHECK:       %[[V:.*]] = attn.read %v [j, e]
// CHECK:       %[[O:.*]] = red.fold add over [j](%[[V]]) exp(%[[S]] - %[[M]])
// CHECK-NOT:   red.fold
// CHECK-NOT:   red.nest

attn.program @softmax_by_hand dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %w = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %2 = attn.sub %arg0, %arg1 : f32
    %3 = math.exp %2 : f32
    attn.yield %3 : f32
  } loc("w")
  %z = attn.reduce add over [j] %w : <[i, j], f32> -> <[i], f32> loc("z")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%arg0 = %w : !attn.array<[i, j], f32>, %arg1 = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %2 = arith.mulf %arg0, %arg1 : f32
    attn.yield %2 : f32
  }
  %1 = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32>
  %o = attn.map (%arg0 = %1 : !attn.array<[i, e], f32>, %arg1 = %z : !attn.array<[i], f32>) -> !attn.array<[i, e], f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %2 = arith.cmpf oeq, %arg1, %cst : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %cst_3 = arith.constant 1.000000e+00 : f32
    %3 = arith.divf %cst_3, %arg1 : f32
    %4 = arith.select %2, %cst_2, %3 : f32
    %5 = arith.mulf %arg0, %4 : f32
    attn.yield %5 : f32
  } loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
