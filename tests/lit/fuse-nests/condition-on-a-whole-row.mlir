// A condition may leave out a whole row, and r may be -inf or NaN there, since a bias of -inf went into
// it: 0 * r would be NaN. There is no exponent to ask whether anything is left, so r is a pass of its own.
//   t = s + where(j < i, 0, -inf), r = sum(j, t * v), o = sum(j, where(j + 3 < i, v * r, 1))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:      %[[R:.*]] = red.nest grid [i] row [] stream [j] inner []
// CHECK:      red.nest grid [i] row [] stream [j] inner []
// CHECK:        %[[IN:.*]] = attn.read %[[R]] [i]
// CHECK:        %[[PRODUCT:.*]] = attn.map ({{.*}} = %[[IN]] : !attn.array<[i], f32>) -> !attn.array<[i, j], f32>
// CHECK:          arith.mulf
// CHECK:          arith.select
// CHECK:        red.fold add over [j](%[[PRODUCT]])

attn.program @whole_row dims [i, j] attributes {attn.reference = {i = 9 : i64, j = 9 : i64}} {
  %s = attn.input "s" : <[i, j], f32>
  %v = attn.input "v" : <[j], f32>
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %0 = attn.index j : <[j], i64>
  %1 = attn.index i : <[i], i64>
  %t = attn.map (%s_2 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %0 : !attn.array<[j], i64>, %arg2 = %1 : !attn.array<[i], i64>) -> !attn.array<[i, j], f32> {
    %4 = arith.cmpi slt, %arg1, %arg2 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_3 = arith.constant 0xFF800000 : f32
    %5 = arith.select %4, %cst, %cst_3 : f32
    %6 = arith.addf %s_2, %5 : f32
    attn.yield %6 : f32
  }
  %v_1 = attn.read %v [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %2 = attn.map (%t_2 = %t : !attn.array<[i, j], f32>, %v_3 = %v_1 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %4 = arith.mulf %t_2, %v_3 : f32
    attn.yield %4 : f32
  }
  %r = attn.reduce add over [j] %2 : <[i, j], f32> -> <[i], f32>
  %3 = attn.map (%arg0 = %0 : !attn.array<[j], i64>, %arg1 = %1 : !attn.array<[i], i64>, %v_2 = %v_1 : !attn.array<[j], f32>, %r_3 = %r : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %c3_i64 = arith.constant 3 : i64
    %4 = arith.addi %arg0, %c3_i64 : i64
    %5 = arith.cmpi slt, %4, %arg1 : i64
    %6 = arith.mulf %v_2, %r_3 : f32
    %cst = arith.constant 1.000000e+00 : f32
    %7 = arith.select %5, %6, %cst : f32
    attn.yield %7 : f32
  }
  %o = attn.reduce add over [j] %3 : <[i, j], f32> -> <[i], f32>
  attn.output "o" [i] %o as f32 : <[i], f32>
}
