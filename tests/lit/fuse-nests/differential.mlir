// Two softmaxes over the same keys are one pass with two maxima; the sum of the two weighted values
// splits into a state for each.
//   p1 = softmax(j, s)
//   p2 = softmax(j, t)
//   o[i,e] = sum(j, (p1 - lambda * p2) * v)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M1:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[Z1:.*]] = red.fold add over [j]() exp(%[[S]] - %[[M1]])
// CHECK:       %[[T:.*]] = attn.read %t [i, j]
// CHECK:       %[[M2:.*]] = red.fold max over [j](%[[T]])
// CHECK:       %[[Z2:.*]] = red.fold add over [j]() exp(%[[T]] - %[[M2]])
// CHECK:       %[[V:.*]] = attn.read %v [j, e]
// CHECK:       %[[O1:.*]] = red.fold add over [j](%[[V]]) exp(%[[S]] - %[[M1]])
// CHECK:       %[[O2:.*]] = red.fold add over [j](%[[V]]) exp(%[[T]] - %[[M2]])
// CHECK:       attn.map ({{.*}} = %[[O1]] : {{.*}} = %[[Z1]] : {{.*}} = %[[O2]] : {{.*}} = %lambda : {{.*}} = %[[Z2]] :
// CHECK-NOT:   red.nest

attn.program @differential dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %t = attn.input "t" : <[i, j], f32> loc("t")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %0 = attn.map () -> !attn.array<[], f32> {
    %cst = arith.constant 5.000000e-01 : f32
    attn.yield %cst : f32
  }
  %lambda = attn.param "lambda" default %0 : !attn.array<[], f32> -> <[], f32> loc("lambda")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p1 = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p1")
  %t_1 = attn.read %t [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("t")
  %p2 = attn.softmax over [j] %t_1 : <[i, j], f32> -> <[i, j], f32> loc("p2")
  %v_2 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %1 = attn.map (%arg0 = %p1 : !attn.array<[i, j], f32>, %arg1 = %lambda : !attn.array<[], f32>, %arg2 = %p2 : !attn.array<[i, j], f32>, %arg3 = %v_2 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %2 = arith.mulf %arg1, %arg2 : f32
    %3 = attn.sub %arg0, %2 : f32
    %4 = arith.mulf %3, %arg3 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %1 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
