// max(s - m) is max(s) - m: the maximum of s is there already, so nothing new is folded.
//   m = max(j, s)
//   x = max(j, s - m)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[M:.*]] = red.fold max over [j]
// CHECK-NOT:   red.fold
// CHECK:       attn.map (%[[X:.*]] = %[[M]] :
// CHECK:         attn.sub %[[X]], %[[X]]
// CHECK-NOT:   red.nest

attn.program @shifted_max dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %0 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %1 = attn.sub %arg0, %arg1 : f32
    attn.yield %1 : f32
  }
  %x = attn.reduce max over [j] %0 : <[i, j], f32> -> <[i], f32> loc("x")
  attn.output "x" [i] %x as f32 : <[i], f32> loc("x")
}
