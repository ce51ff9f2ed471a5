// A sum of exponentials is c exp(m) after the stream. Its square is that of c exp(m), not c c exp(m + m):
// where c is small, exp(m + m) would be infinite and the square is not.
//   r = sum(j, exp(s) * v), o = 1 / (1 + abs(r * r))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:      red.nest grid [] row [i] stream [j] inner []
// CHECK:        %[[MAX:.*]] = red.fold max over [j]
// CHECK:        %[[SUM:.*]] = red.fold add over [j]({{.*}}) exp(%{{.*}} - %[[MAX]])
// CHECK:        attn.map (%[[C:[a-z0-9_]+]] = %[[SUM]] : !attn.array<[i], f32>, %[[M:[a-z0-9_]+]] = %[[MAX]] :
// CHECK-NEXT:     %[[W:.*]] = math.exp %[[M]] : f32
// CHECK-NEXT:     %[[X:.*]] = arith.mulf %[[C]], %[[W]] : f32
// CHECK-NEXT:     attn.yield %[[X]]
// CHECK:        attn.map (%[[R:[a-z0-9_]+]] =
// CHECK-NEXT:     arith.constant
// CHECK-NEXT:     arith.mulf %[[R]], %[[R]] : f32

attn.program @products_apart dims [i, j] attributes {attn.reference = {i = 9 : i64, j = 9 : i64}} {
  %s = attn.input "s" : <[i, j], f32>
  %v = attn.input "v" : <[j], f32>
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %v_1 = attn.read %v [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %0 = attn.map (%s_2 = %s_0 : !attn.array<[i, j], f32>, %v_3 = %v_1 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %1 = math.exp %s_2 : f32
    %2 = arith.mulf %1, %v_3 : f32
    attn.yield %2 : f32
  }
  %r = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32>
  %o = attn.map (%r_2 = %r : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %cst = arith.constant 1.000000e+00 : f32
    %cst_3 = arith.constant 1.000000e+00 : f32
    %1 = arith.mulf %r_2, %r_2 : f32
    %2 = math.absf %1 : f32
    %3 = arith.addf %cst_3, %2 : f32
    %4 = arith.divf %cst, %3 : f32
    attn.yield %4 : f32
  }
  attn.output "o" [i] %o as f32 : <[i], f32>
}
