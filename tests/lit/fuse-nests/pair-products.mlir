// A factor of a product of two sequences that takes exponentials, or a fold, is stored: it would be
// computed again for each tile of the other sequence. One that takes neither is not. The product is
// whole in a tile, though a maximum runs over its dim, too.
//   x = softmax(d, q)
//   y = exp(k)
//   o[h,i,e] = sum(j, where(j <= i, sum(d, x * y), 0) * v)
//   w[h,i] = sum(j, where(j <= i, sum(d, q * relu(k)), 0))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     %[[K:.*]] = attn.input "k"
// CHECK:     red.nest grid [h] row [i] stream [d] inner []
// CHECK:     %[[X:.*]] = red.nest grid [h, i, d] row [] stream [] inner []
// CHECK:     %[[Y:.*]] = red.nest grid [h, d, j] row [] stream [] inner []
// CHECK:     red.nest grid [h] row [i] stream [j] inner [d, e]
// CHECK-DAG:   attn.read %[[X]] [h, i, d]
// CHECK-DAG:   attn.read %[[Y]]
// CHECK-DAG:   attn.read %[[K]] [h, j, d]
// CHECK-NOT: red.nest

attn.program @features dims [h, i, d = 16, j, e = 8] {
  %q = attn.input "q" : <[h, i, d], f32>
  %k = attn.input "k" : <[h, j, d], f32>
  %v = attn.input "v" : <[h, j, e], f32>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d], f32>
  %x = attn.softmax over [d] %q_0 : <[h, i, d], f32> -> <[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], f32>) -> !attn.array<[h, d, j], f32>
  %y = attn.map (%k_3 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, d, j], f32> {
    %8 = math.exp %k_3 : f32
    attn.yield %8 : f32
  }
  %0 = attn.index j : <[j], i64>
  %1 = attn.index i : <[i], i64>
  %2 = attn.map (%x_3 = %x : !attn.array<[h, i, d], f32>, %y_4 = %y : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %8 = arith.mulf %x_3, %y_4 : f32
    attn.yield %8 : f32
  }
  %3 = attn.reduce add over [d] %2 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], f32>) -> !attn.array<[h, j, e], f32>
  %4 = attn.map (%arg0 = %0 : !attn.array<[j], i64>, %arg1 = %1 : !attn.array<[i], i64>, %arg2 = %3 : !attn.array<[h, i, j], f32>, %v_3 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %8 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %9 = arith.select %8, %arg2, %cst : f32
    %10 = arith.mulf %9, %v_3 : f32
    attn.yield %10 : f32
  }
  %o = attn.reduce add over [j] %4 : <[h, i, j, e], f32> -> <[h, i, e], f32>
  %5 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %8 = arith.maximumf %k_4, %cst {attn.tie = 1 : i64} : f32
    %9 = arith.mulf %q_3, %8 : f32
    attn.yield %9 : f32
  }
  %6 = attn.reduce add over [d] %5 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %7 = attn.map (%arg0 = %0 : !attn.array<[j], i64>, %arg1 = %1 : !attn.array<[i], i64>, %arg2 = %6 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %8 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %9 = arith.select %8, %arg2, %cst : f32
    attn.yield %9 : f32
  }
  %w = attn.reduce add over [j] %7 : <[h, i, j], f32> -> <[h, i], f32>
  attn.output "o" [h, i, e] %o as f32 : <[h, i, e], f32>
  attn.output "w" [h, i] %w as f32 : <[h, i], f32>
}
