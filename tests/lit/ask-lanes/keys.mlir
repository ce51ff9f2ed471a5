// A number for each key says whether it counts: each lane of a warp asks for two of a tile's 64 keys, and
// the elements look at the bits of the answers.
//   s = where(j <= i + 40 and rank[b,j] < most, s, -inf)
// RUN: attnc-opt %s --mlir-use-nameloc-as-prefix --attnc-pipeline='through=ask-lanes target=sm_90a' | FileCheck %s

// CHECK-LABEL: tile.kernel @keys_that_count_o(
// CHECK:       %[[WORDS:[0-9]+]]:2 = tile.ballot : i32, i32 {
// CHECK-NEXT:  ^bb0(%[[LANE:.*]]: i32):
// CHECK:         %[[J:.*]] = arith.addi %[[J0:.*]], %[[LANE]] : i32
// CHECK:         tile.load %rank
// CHECK:         %[[FIRST:.*]] = arith.cmpi slt, %{{.*}}, %most : i64
// CHECK:         %[[NEXT:.*]] = arith.addi %[[LANE]], %{{.*}} : i32
// CHECK:         arith.addi %[[J0]], %[[NEXT]] : i32
// CHECK:         tile.load %rank
// CHECK:         %[[SECOND:.*]] = arith.cmpi slt, %{{.*}}, %most : i64
// CHECK:         tile.yield %[[FIRST]], %[[SECOND]] : i1, i1
// CHECK:       tile.map rows({{.*}}) cols(%[[J0]] as %[[COLUMN:.*]]) ins
// CHECK-NOT:     tile.load
// CHECK:         %[[AT:.*]] = arith.subi %[[COLUMN]], %[[J0]] : i32
// CHECK:         arith.select %{{.*}}, %[[WORDS]]#1, %[[WORDS]]#0 : i32
// CHECK:         arith.shrsi
// CHECK:         tile.yield

attn.program @keys_that_count dims [b, h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[b, h, i, d], bf16>
  %k = attn.input "k" : <[b, h, j, d], bf16>
  %v = attn.input "v" : <[b, h, j, e], bf16>
  %rank = attn.input "rank" : <[b, j], i32>
  %0 = attn.map () -> !attn.array<[], f32> {
    %cst = arith.constant 1.250000e-01 : f32
    attn.yield %cst : f32
  }
  %scale = attn.param "scale" default %0 : !attn.array<[], f32> {lower = 0.000000e+00 : f64, lower_open} -> <[], f32>
  %1 = attn.map () -> !attn.array<[], i64> {
    %c4_i64 = arith.constant 4 : i64
    attn.yield %c4_i64 : i64
  }
  %most = attn.param "most" default %1 : !attn.array<[], i64> -> <[], i64>
  %q_0 = attn.read %q [b, h, i, d] : (!attn.array<[b, h, i, d], bf16>) -> !attn.array<[b, h, i, d], f32>
  %k_1 = attn.read %k [b, h, j, d] : (!attn.array<[b, h, j, d], bf16>) -> !attn.array<[b, h, d, j], f32>
  %2 = attn.map (%q_5 = %q_0 : !attn.array<[b, h, i, d], f32>, %k_6 = %k_1 : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, d, j], f32> {
    %7 = arith.mulf %q_5, %k_6 : f32
    attn.yield %7 : f32
  }
  %3 = attn.reduce add over [d] %2 : <[b, h, i, d, j], f32> -> <[b, h, i, j], f32>
  %s = attn.map (%arg0 = %3 : !attn.array<[b, h, i, j], f32>, %scale_5 = %scale : !attn.array<[], f32>) -> !attn.array<[b, h, i, j], f32> {
    %7 = arith.mulf %arg0, %scale_5 : f32
    attn.yield %7 : f32
  }
  %4 = attn.index j : <[j], i64>
  %5 = attn.index i : <[i], i64>
  %rank_2 = attn.read %rank [b, j] : (!attn.array<[b, j], i32>) -> !attn.array<[b, j], i64>
  %s_3 = attn.map (%arg0 = %4 : !attn.array<[j], i64>, %arg1 = %5 : !attn.array<[i], i64>, %rank_5 = %rank_2 : !attn.array<[b, j], i64>, %most_6 = %most : !attn.array<[], i64>, %s_7 = %s : !attn.array<[b, h, i, j], f32>) -> !attn.array<[b, h, i, j], f32> {
    %c40_i64 = arith.constant 40 : i64
    %7 = arith.addi %arg1, %c40_i64 : i64
    %8 = arith.cmpi sle, %arg0, %7 : i64
    %9 = arith.cmpi slt, %rank_5, %most_6 : i64
    %10 = arith.andi %8, %9 : i1
    %cst = arith.constant 0xFF800000 : f32
    %11 = arith.select %10, %s_7, %cst : f32
    attn.yield %11 : f32
  }
  %p = attn.softmax over [j] %s_3 : <[b, h, i, j], f32> -> <[b, h, i, j], f32>
  %v_4 = attn.read %v [b, h, j, e] : (!attn.array<[b, h, j, e], bf16>) -> !attn.array<[b, h, j, e], f32>
  %6 = attn.map (%p_5 = %p : !attn.array<[b, h, i, j], f32>, %v_6 = %v_4 : !attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, i, j, e], f32> {
    %7 = arith.mulf %p_5, %v_6 : f32
    attn.yield %7 : f32
  }
  %o = attn.reduce add over [j] %6 : <[b, h, i, j, e], f32> -> <[b, h, i, e], f32>
  attn.output "o" [b, h, i, e] %o as bf16 : <[b, h, i, e], f32>
}
