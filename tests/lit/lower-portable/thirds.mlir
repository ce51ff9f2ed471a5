// A mask that leaves something of every tile, however small: nobody asks which tiles matter, elements are
// masked one by one. The same mask with blocks in place of single keys leaves tiles out.
//   p = softmax(j, where(j % 3 == 0, sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{passes} = 'builtin.module(attnc-pipeline{target=sm_80})'
// RUN: attnc-opt --pass-pipeline=%{passes} %s | FileCheck %s
// RUN: sed 's/constant 3 : i64/constant 300 : i64/' %s | attnc-opt --pass-pipeline=%{passes} | FileCheck %s --check-prefix=HOLES

// CHECK-LABEL: tile.kernel @thirds_o
// CHECK-NOT:   tile.ballot
// CHECK:       scf.for
// CHECK:         tile.mma
// A remainder of the column is one of the lane's first column, compared with a constant for each element.
// CHECK:         %[[FIRST:.*]] = tile.first_column
// CHECK:         %[[REST:.*]] = arith.remui %[[FIRST]], %c3_i32
// CHECK:         tile.column_distance
// CHECK:         %[[WANTED:.*]] = attn.mod %{{.*}}, %c3_i32
// CHECK:         arith.cmpi eq, %[[REST]], %[[WANTED]]
// HOLES:       tile.ballot

attn.program @thirds dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %1 = attn.index j : <[j], i64>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %2 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %6 = arith.mulf %q_3, %k_4 : f32
    attn.yield %6 : f32
  }
  %3 = attn.reduce add over [d] %2 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %4 = attn.map (%arg1 = %1 : !attn.array<[j], i64>, %arg2 = %3 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %c3_i64 = arith.constant 3 : i64
    %7 = attn.mod %arg1, %c3_i64 : i64
    %c0_i64 = arith.constant 0 : i64
    %10 = arith.cmpi eq, %7, %c0_i64 : i64
    %cst = arith.constant 0xFF800000 : f32
    %11 = arith.select %10, %arg2, %cst : f32
    attn.yield %11 : f32
  }
  %p = attn.softmax over [j] %4 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32>
  %5 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %6 = arith.mulf %p_3, %v_4 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %5 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
