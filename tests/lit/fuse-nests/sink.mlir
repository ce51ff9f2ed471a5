// A sink adds exp(sink - m) to the denominator: arithmetic of the epilogue, no state of its own.
//   m = max(j, s)
//   w = exp(s - m)
//   z = sum(j, w) + exp(sink - m)
//   o[i,e] = sum(j, w / z * v)
// A sum over nothing is 0: z is inf then, and 0 / inf needs no choice.
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [e]
// CHECK:       %[[M:.*]] = red.fold max
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(
// CHECK:       %[[O:.*]] = red.fold add over [j](%{{.*}}) exp(
// CHECK-NOT:   red.fold
// CHECK-NOT:   i1>
// CHECK:       attn.map (%[[OX:.*]] = %[[O]] : {{.*}}, %[[ZX:.*]] = %[[Z]] : {{.*}}, %[[SX:.*]] = %sink : {{.*}}, %[[MX:.*]] = %[[M]] :
// CHECK:         %[[D:.*]] = attn.sub %[[SX]], %[[MX]]
// CHECK:         %[[E:.*]] = math.exp %[[D]]
// CHECK:         %[[T:.*]] = arith.addf %[[ZX]], %[[E]]
// CHECK:         %[[Q:[a-z0-9_]+]] = arith.divf %[[OX]], %[[T]]
// CHECK-NEXT:    attn.yield %[[Q]]
// CHECK-NOT:   red.nest

attn.program @sink dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %0 = attn.map () -> !attn.array<[], f32> {
    %cst = arith.constant 0.000000e+00 : f32
    attn.yield %cst : f32
  }
  %sink = attn.param "sink" default %0 : !attn.array<[], f32> -> <[], f32> loc("sink")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %w = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %3 = attn.sub %arg0, %arg1 : f32
    %4 = math.exp %3 : f32
    attn.yield %4 : f32
  } loc("w")
  %1 = attn.reduce add over [j] %w : <[i, j], f32> -> <[i], f32>
  %z = attn.map (%arg0 = %1 : !attn.array<[i], f32>, %arg1 = %sink : !attn.array<[], f32>, %arg2 = %m : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %3 = attn.sub %arg1, %arg2 : f32
    %4 = math.exp %3 : f32
    %5 = arith.addf %arg0, %4 : f32
    attn.yield %5 : f32
  } loc("z")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %2 = attn.map (%arg0 = %w : !attn.array<[i, j], f32>, %arg1 = %z : !attn.array<[i], f32>, %arg2 = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %3 = arith.divf %arg0, %arg1 : f32
    %4 = arith.mulf %3, %arg2 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %2 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
