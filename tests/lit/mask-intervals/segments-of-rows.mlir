// Rows that are an extent apart: a tile of them sees what lies between the segment of the first and that
// of the last one, and no part of it is full.
//   o[m,e] = sum(j, where(j >= m * l and j < (m + 1) * l, 1, 0) * v[j,e]), l = size(j) // size(m)
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     red.nest grid [] row [m] stream [j] inner [e]
// CHECK:     ^bb0(%[[M0:.*]]: i64, %[[M1:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64):
// CHECK:       %[[L:.*]] = arith.floordivsi
// CHECK:       %[[A:.*]] = arith.muli %[[M0]], %[[L]]
// CHECK:       %[[B:.*]] = arith.muli %[[M1]], %[[L]]
// CHECK:       arith.minsi %[[A]], %[[B]]
// CHECK:       %[[N0:.*]] = arith.addi %[[M0]]
// CHECK:       %[[N1:.*]] = arith.addi %[[M1]]
// CHECK:       %[[C:.*]] = arith.muli %[[N0]], %[[L]]
// CHECK:       %[[D:.*]] = arith.muli %[[N1]], %[[L]]
// CHECK:       arith.maxsi %[[C]], %[[D]]
// CHECK:       %[[TRUE:.*]] = arith.constant true
// CHECK:       red.bounds lo(%{{.*}}) hi(%{{.*}}) full %[[TRUE]]

attn.program @segments_of_rows dims [j, e = 16, m = 256] {
  %v = attn.input "v" : <[j, e], f16>
  %0 = attn.size j : <[], i64>
  %l = attn.map (%arg0 = %0 : !attn.array<[], i64>) -> !attn.array<[], i64> {
    %c256_i64 = arith.constant 256 : i64
    %4 = arith.floordivsi %arg0, %c256_i64 : i64
    attn.yield %4 : i64
  }
  %1 = attn.index j : <[j], i64>
  %2 = attn.index m : <[m], i64>
  %v_0 = attn.read %v [j, e] : (!attn.array<[j, e], f16>) -> !attn.array<[j, e], f32>
  %3 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[m], i64>, %l_1 = %l : !attn.array<[], i64>, %v_2 = %v_0 : !attn.array<[j, e], f32>) -> !attn.array<[j, e, m], f32> {
    %4 = arith.muli %arg1, %l_1 : i64
    %5 = arith.cmpi sge, %arg0, %4 : i64
    %c1_i64 = arith.constant 1 : i64
    %6 = arith.addi %arg1, %c1_i64 : i64
    %7 = arith.muli %6, %l_1 : i64
    %8 = arith.cmpi slt, %arg0, %7 : i64
    %9 = arith.andi %5, %8 : i1
    %c1_i64_3 = arith.constant 1 : i64
    %c0_i64 = arith.constant 0 : i64
    %10 = arith.select %9, %c1_i64_3, %c0_i64 : i64
    %11 = arith.sitofp %10 : i64 to f32
    %12 = arith.mulf %11, %v_2 : f32
    attn.yield %12 : f32
  }
  %o = attn.reduce add over [j] %3 : <[j, e, m], f32> -> <[e, m], f32>
  attn.output "o" [m, e] %o as f32 : <[e, m], f32>
}
