// tanh of a shifted score has no form that can be updated when the maximum moves: another pass,
// whose derivation names the operation.
//   m = max(j, s)
//   o[i] = sum(j, tanh(s - m))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     %[[M:.*]] = red.nest grid [] row [i] stream [j] inner []
// CHECK:       red.fold max over [j]
// CHECK-NOT:   math.tanh
// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       attn.read %[[M]] [i]
// CHECK:       math.tanh
// CHECK:       red.fold add over [j]
// CHECK:     red.derivation = [{dims = "j", expression = "tanh(s - m)", fold = "o", line = "{{[0-9]+}}", operation = "tanh",
// CHECK-SAME:  property = "it is not a homomorphism from + to *
// CHECK-SAME:  result = "m", rule = "cut"}
// CHECK-NOT:   red.nest

attn.program @refused_tanh dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %0 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %1 = attn.sub %arg0, %arg1 : f32
    %2 = math.tanh %1 : f32
    attn.yield %2 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
