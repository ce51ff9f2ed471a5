// Weights that nothing bounds are relative to a maximum of their own, also of a static number of keys:
// these are streamed as those of a softmax.
//   o = sum(j, w / (1 + sum(j, w)) * v), w = exp(s)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[MAX:.*]] = red.fold max over [j]
// CHECK:       red.fold add over [j]() exp(%{{.*}} - %[[MAX]])
// CHECK:       red.fold add over [j](%{{.*}}) exp(%{{.*}} - %[[MAX]])
// CHECK-NOT: red.nest

attn.program @static_keys dims [i, j = 17] attributes {attn.reference = {i = 9 : i64}} {
  %0 = attn.input "s" : <[i, j], f32>
  %1 = attn.input "v" : <[j], f32>
  %2 = attn.read %0 [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %3 = attn.map (%arg0 = %2 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %8 = math.exp %arg0 : f32
    attn.yield %8 : f32
  }
  %4 = attn.reduce add over [j] %3 : <[i, j], f32> -> <[i], f32>
  %5 = attn.read %1 [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %6 = attn.map (%arg0 = %3 : !attn.array<[i, j], f32>, %arg1 = %4 : !attn.array<[i], f32>, %arg2 = %5 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %cst = arith.constant 1.000000e+00 : f32
    %8 = arith.addf %cst, %arg1 : f32
    %9 = arith.divf %arg0, %8 : f32
    %10 = arith.mulf %9, %arg2 : f32
    attn.yield %10 : f32
  }
  %7 = attn.reduce add over [j] %6 : <[i, j], f32> -> <[i], f32>
  attn.output "o" [i] %7 as f32 : <[i], f32>
}
