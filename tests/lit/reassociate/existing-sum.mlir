// sum(j, p * sum(e, g * v)) is sum(e, g * o) where o = sum(j, p * v) is there already: the pass over
// all pairs of i and j falls away.
// RUN: %through-reassociate %s | FileCheck %s

// CHECK:     %[[O:.*]]:2 = red.nest {{.*}} stream [j]
// CHECK:     red.nest {{.*}} stream [e]
// CHECK:       attn.read %[[O]]#1 [i, e]
// CHECK:       red.fold add over [e](
// CHECK-NOT: stream [j]

attn.program @delta dims [i, j, e = 24] {
  %p = attn.input "p" : <[i, j], f32> loc("p")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %g = attn.input "g" : <[i, e], f32> loc("g")
  %0 = attn.read %p [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("p")
  %1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %2 = attn.map (%x = %0 : !attn.array<[i, j], f32>, %y = %1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %7 = arith.mulf %x, %y : f32
    attn.yield %7 : f32
  }
  %o = attn.reduce add over [j] %2 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  %3 = attn.read %g [i, e] : (!attn.array<[i, e], f32>) -> !attn.array<[i, e], f32> loc("g")
  %4 = attn.map (%x = %3 : !attn.array<[i, e], f32>, %y = %1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %7 = arith.mulf %x, %y : f32
    attn.yield %7 : f32
  }
  %dp = attn.reduce add over [e] %4 : <[i, j, e], f32> -> <[i, j], f32> loc("dp")
  %5 = attn.map (%x = %0 : !attn.array<[i, j], f32>, %y = %dp : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %7 = arith.mulf %x, %y : f32
    attn.yield %7 : f32
  }
  %delta = attn.reduce add over [j] %5 : <[i, j], f32> -> <[i], f32> loc("delta")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
  attn.output "delta" [i] %delta as f32 : <[i], f32> loc("delta")
}
