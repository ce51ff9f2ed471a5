// A factor that does not vary along the stream is applied once, after it.
//   p = softmax(j, s)
//   o[i,e] = sum(j, p * g * v)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(
// CHECK:       %[[INV:.*]] = attn.map ({{.*}} = %[[Z]] :
// CHECK:       %[[G:.*]] = attn.read %g [i]
// CHECK:       %[[V:.*]] = attn.read %v [j, e]
// CHECK:       %[[O:.*]] = red.fold add over [j](%[[V]]) exp(
// CHECK:       attn.map ({{.*}} = %[[O]] : {{.*}} = %[[INV]] : {{.*}} = %[[G]] :
// CHECK-NOT:   red.nest

attn.program @gate dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %g = attn.input "g" : <[i], f32> loc("g")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %g_1 = attn.read %g [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32> loc("g")
  %v_2 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>, %arg1 = %g_1 : !attn.array<[i], f32>, %arg2 = %v_2 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    %2 = arith.mulf %1, %arg2 : f32
    attn.yield %2 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
