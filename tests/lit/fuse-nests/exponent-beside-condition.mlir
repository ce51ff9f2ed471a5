// The condition goes into an exponent, and exp(-m) of the quotient, which may be infinite, into that
// of the epilogue: alone, times a small weight, it would be what f32 does not hold. 1 / sum(j, w) is
// infinite over nothing; so a row of which the condition leaves out every key is 0 by a choice.
//   w = exp(s) / exp(max(j, s)), p = w / sum(j, w)
//   o = sum(j, where(j % 3 == 0, p, 0) * v)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK-NOT:   math.exp
// CHECK:       red.fold add over [j]() exp(
// CHECK:       %[[MAX:.*]] = red.fold max over [j](%[[MASKED:.*]]) :
// CHECK-NEXT:  %[[SUM:.*]] = red.fold add over [j]({{.*}}) exp(%[[MASKED]] - %[[MAX]])
// CHECK:       attn.map ({{.*}}%[[M:[a-z0-9]+]] = %[[MAX]] :
// CHECK:         %[[NONE:.*]] = arith.cmpf oeq, %[[M]], %{{.*}} : f32
// CHECK:         %[[SHIFTED:.*]] = attn.sub %[[M]], %{{.*}} : f32
// CHECK-NEXT:    math.exp %[[SHIFTED]]
// CHECK:         arith.select %[[NONE]], %{{.*}}, %{{.*}} : f32
// CHECK-NOT:   math.exp
// CHECK-NOT: red.nest grid

attn.program @quotient_masked dims [i, j] attributes {attn.reference = {i = 9 : i64, j = 9 : i64}} {
  %0 = attn.input "s" : <[i, j], f32>
  %1 = attn.input "v" : <[j], f32>
  %2 = attn.read %0 [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %3 = attn.reduce max over [j] %2 : <[i, j], f32> -> <[i], f32>
  %4 = attn.map (%arg0 = %2 : !attn.array<[i, j], f32>, %arg1 = %3 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %11 = math.exp %arg0 : f32
    %12 = math.exp %arg1 : f32
    %13 = arith.divf %11, %12 : f32
    attn.yield %13 : f32
  }
  %5 = attn.reduce add over [j] %4 : <[i, j], f32> -> <[i], f32>
  %6 = attn.map (%arg0 = %4 : !attn.array<[i, j], f32>, %arg1 = %5 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %11 = arith.divf %arg0, %arg1 : f32
    attn.yield %11 : f32
  }
  %7 = attn.index j : <[j], i64>
  %8 = attn.read %1 [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %9 = attn.map (%arg0 = %7 : !attn.array<[j], i64>, %arg1 = %6 : !attn.array<[i, j], f32>, %arg2 = %8 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %c3_i64 = arith.constant 3 : i64
    %11 = attn.mod %arg0, %c3_i64 : i64
    %c0_i64 = arith.constant 0 : i64
    %12 = arith.cmpi eq, %11, %c0_i64 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %13 = arith.select %12, %arg1, %cst : f32
    %14 = arith.mulf %13, %arg2 : f32
    attn.yield %14 : f32
  }
  %10 = attn.reduce add over [j] %9 : <[i, j], f32> -> <[i], f32>
  attn.output "o" [i] %10 as f32 : <[i], f32>
}
