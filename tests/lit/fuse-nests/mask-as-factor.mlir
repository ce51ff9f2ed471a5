// A condition on the weights of a softmax is a factor of these, where nothing asks how small the sum is:
// the denominator still sees every key.
//   p = softmax(j, s)
//   o[i,e] = sum(j, where(j <= i, p, 0) * v)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       red.fold add over [j]() exp(%[[S]] - %[[M]])
// CHECK:       %[[C:.*]] = attn.map
// CHECK:         arith.cmpi sle
// CHECK:         arith.select
// CHECK:       red.fold add over [j](%[[C]], %{{.*}}) exp(%[[S]] - %[[M]])
// CHECK-NOT:   red.fold
// CHECK-NOT:   red.nest

attn.program @mask_as_factor dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %0 = attn.index j : <[j], i64>
  %1 = attn.index i : <[i], i64>
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %2 = attn.map (%arg0 = %0 : !attn.array<[j], i64>, %arg1 = %1 : !attn.array<[i], i64>, %arg2 = %p : !attn.array<[i, j], f32>, %arg3 = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %3 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %4 = arith.select %3, %arg2, %cst : f32
    %5 = arith.mulf %4, %arg3 : f32
    attn.yield %5 : f32
  }
  %o = attn.reduce add over [j] %2 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
