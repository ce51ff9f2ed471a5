// exp((s - m) * 2) has an exponent of its own, 2 s, with its own maximum. That is 2 m, as 2 s grows
// with s: it cancels against the shift, and m, which nothing else uses, is no state.
//   m = max(j, s)
//   o[i] = sum(j, exp((s - m) * 2))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[X:.*]] = attn.map ({{.*}} = %[[S]] :
// CHECK:       %[[MX:.*]] = red.fold max over [j](%[[X]])
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(%[[X]] - %[[MX]])
// CHECK-NOT:   red.fold
// CHECK-NOT:   attn.map
// CHECK:       red.yield %[[Z]]
// CHECK-NOT:   red.nest

attn.program @scaled_shift dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %0 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %1 = attn.sub %arg0, %arg1 : f32
    %cst = arith.constant 2.000000e+00 : f32
    %2 = arith.mulf %1, %cst : f32
    %3 = math.exp %2 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
