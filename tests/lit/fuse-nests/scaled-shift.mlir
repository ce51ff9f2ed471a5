// exp((s - m) * 2) has an exponent of its own, 2 s, with its own maximum. What is left after the
// stream is subtracted from that maximum, so that a row without keys weighs 0: -inf absorbs.
//   m = max(j, s)
//   o[i] = sum(j, exp((s - m) * 2))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [i] row [] stream [j] inner []
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[X:.*]] = attn.map ({{.*}} = %[[S]] :
// CHECK:       %[[MX:.*]] = red.fold max over [j](%[[X]])
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(%[[X]] - %[[MX]])
// CHECK:       attn.map (%[[A:.*]] = %[[Z]] : {{.*}}, %[[B:.*]] = %[[MX]] : {{.*}} = %[[M]] :
// CHECK:         %[[SHIFT:.*]] = attn.sub %[[B]],
// CHECK:         %[[E:.*]] = math.exp %[[SHIFT]]
// CHECK:         arith.mulf %[[A]], %[[E]]
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
