// Which tiles matter is looked up by blocks of 64 rows and of 64 keys, in a table of truths: tiles of
// the kernel, of any form, are no larger.
//   o[b,h,i,e] = sum(j, softmax(j, where(kept[b,h,i//64,j//64] or sees[i//64], s, -inf)) * v)
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="through=choose-schedules target=sm_80" %s | FileCheck %s
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="through=choose-schedules target=sm_90a" %s | FileCheck %s

// CHECK: %[[KEPT:.*]] = attn.input "kept"
// CHECK: red.nest grid [b, h] row [i] stream [j] {{.*}}row_tile = {{16|32|64}}, stream_tile = {{16|32|64}},
// CHECK: } domain {
// CHECK: red.extreme max of %[[KEPT]]
// CHECK: red.bounds {{.*}}live

attn.program @blocks_by_truth dims [b, h, i, d = 64, j, e = 64, u, w] {
  %q = attn.input "q" : <[b, h, i, d], bf16>
  %k = attn.input "k" : <[b, h, j, d], bf16>
  %v = attn.input "v" : <[b, h, j, e], bf16>
  %kept = attn.input "kept" : <[b, h, u, w], i1>
  %sees = attn.input "sees" : <[u], i1>
  %0 = attn.size i : <[], i64>
  %1 = attn.size u : <[], i64>
  %2 = attn.map (%arg0 = %0 : !attn.array<[], i64>, %arg1 = %1 : !attn.array<[], i64>) -> !attn.array<[], i1> {
    %c64_i64 = arith.constant 64 : i64
    %16 = arith.muli %c64_i64, %arg1 : i64
    %17 = arith.cmpi sle, %arg0, %16 : i64
    attn.yield %17 : i1
  }
  attn.require "size(i) <= 64*size(u)" %2 : <[], i1>
  %3 = attn.size j : <[], i64>
  %4 = attn.size w : <[], i64>
  %5 = attn.map (%arg0 = %3 : !attn.array<[], i64>, %arg1 = %4 : !attn.array<[], i64>) -> !attn.array<[], i1> {
    %c64_i64 = arith.constant 64 : i64
    %16 = arith.muli %c64_i64, %arg1 : i64
    %17 = arith.cmpi sle, %arg0, %16 : i64
    attn.yield %17 : i1
  }
  attn.require "size(j) <= 64*size(w)" %5 : <[], i1>
  %q_0 = attn.read %q [b, h, i, d] : (!attn.array<[b, h, i, d], bf16>) -> !attn.array<[b, h, i, d], f32>
  %k_1 = attn.read %k [b, h, j, d] : (!attn.array<[b, h, j, d], bf16>) -> !attn.array<[b, h, d, j], f32>
  %6 = attn.map (%q_5 = %q_0 : !attn.array<[b, h, i, d], f32>, %k_6 = %k_1 : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, d, j], f32> {
    %16 = arith.mulf %q_5, %k_6 : f32
    attn.yield %16 : f32
  }
  %7 = attn.reduce add over [d] %6 : <[b, h, i, d, j], f32> -> <[b, h, i, j], f32>
  %s = attn.map (%arg0 = %7 : !attn.array<[b, h, i, j], f32>) -> !attn.array<[b, h, i, j], f32> {
    %cst = arith.constant 8.000000e+00 : f32
    %16 = arith.divf %arg0, %cst : f32
    attn.yield %16 : f32
  }
  %8 = attn.index i : <[i], i64>
  %9 = attn.map (%arg0 = %8 : !attn.array<[i], i64>) -> !attn.array<[i], i64> {
    %c64_i64 = arith.constant 64 : i64
    %16 = arith.floordivsi %arg0, %c64_i64 : i64
    attn.yield %16 : i64
  }
  %10 = attn.index j : <[j], i64>
  %11 = attn.map (%arg0 = %10 : !attn.array<[j], i64>) -> !attn.array<[j], i64> {
    %c64_i64 = arith.constant 64 : i64
    %16 = arith.floordivsi %arg0, %c64_i64 : i64
    attn.yield %16 : i64
  }
  %kept_2 = attn.read %kept [b, h, %9, %11] : (!attn.array<[b, h, u, w], i1>, !attn.array<[i], i64>, !attn.array<[j], i64>) -> !attn.array<[b, h, i, j], i1>
  %12 = attn.map (%arg0 = %8 : !attn.array<[i], i64>) -> !attn.array<[i], i64> {
    %c64_i64 = arith.constant 64 : i64
    %16 = arith.floordivsi %arg0, %c64_i64 : i64
    attn.yield %16 : i64
  }
  %sees_3 = attn.read %sees [%12] : (!attn.array<[u], i1>, !attn.array<[i], i64>) -> !attn.array<[i], i1>
  %13 = attn.map (%kept_5 = %kept_2 : !attn.array<[b, h, i, j], i1>, %sees_6 = %sees_3 : !attn.array<[i], i1>, %s_7 = %s : !attn.array<[b, h, i, j], f32>) -> !attn.array<[b, h, i, j], f32> {
    %16 = arith.ori %kept_5, %sees_6 : i1
    %cst = arith.constant 0xFF800000 : f32
    %17 = arith.select %16, %s_7, %cst : f32
    attn.yield %17 : f32
  }
  %14 = attn.softmax over [j] %13 : <[b, h, i, j], f32> -> <[b, h, i, j], f32>
  %v_4 = attn.read %v [b, h, j, e] : (!attn.array<[b, h, j, e], bf16>) -> !attn.array<[b, h, j, e], f32>
  %15 = attn.map (%arg0 = %14 : !attn.array<[b, h, i, j], f32>, %v_5 = %v_4 : !attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, i, j, e], f32> {
    %16 = arith.mulf %arg0, %v_5 : f32
    attn.yield %16 : f32
  }
  %o = attn.reduce add over [j] %15 : <[b, h, i, j, e], f32> -> <[b, h, i, e], f32>
  attn.output "o" [b, h, i, e] %o as f32 : <[b, h, i, e], f32>
}
