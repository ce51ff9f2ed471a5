// logsumexp shares its maximum and its sum with a softmax of the same scores.
//   p = softmax(j, s)
//   o[i,e] = sum(j, p * v)
//   lse = logsumexp(j, s)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[M:.*]] = red.fold max over [j]
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp({{.*}} - %[[M]])
// CHECK:       %lse = attn.map ({{.*}} = %[[M]] : {{.*}} = %[[Z]] :
// CHECK:       red.fold add over [j](%{{.*}}) exp({{.*}} - %[[M]])
// CHECK-NOT:   red.fold
// CHECK-NOT:   red.nest

attn.program @logsumexp_shared dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>, %arg1 = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  %lse = attn.reduce logsumexp over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
  attn.output "lse" [i] %lse as f32 : <[i], f32> loc("lse")
}
