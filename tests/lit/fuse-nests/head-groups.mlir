// A key head that is shared by a group of query heads is read at a computed subscript inside the pass.
//   s = sum(d, q[h,i,d] * k[h//2,j,d])
//   lse = logsumexp(j, s)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     attn.require "size(h) == 2 * size(hk)"
// CHECK:     red.nest grid [h] row [i] stream [j] inner [d]
// CHECK:       %[[H:.*]] = attn.index h
// CHECK:       %[[G:.*]] = attn.map ({{.*}} = %[[H]] :
// CHECK:         arith.floordivsi
// CHECK:       attn.read %k [%[[G]], j, d]
// CHECK-NOT:   red.nest

attn.program @head_groups dims [h, i, d = 16, hk, j] {
  %q = attn.input "q" : <[h, i, d], f32> loc("q")
  %k = attn.input "k" : <[hk, j, d], f32> loc("k")
  %0 = attn.size h : <[], i64>
  %1 = attn.size hk : <[], i64>
  %2 = attn.map (%arg0 = %0 : !attn.array<[], i64>, %arg1 = %1 : !attn.array<[], i64>) -> !attn.array<[], i1> {
    %c2_i64 = arith.constant 2 : i64
    %6 = arith.muli %c2_i64, %arg1 : i64
    %7 = arith.cmpi eq, %arg0, %6 : i64
    attn.yield %7 : i1
  }
  attn.require "size(h) == 2 * size(hk)" %2 : <[], i1>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d], f32> loc("q")
  %3 = attn.index h : <[h], i64>
  %4 = attn.map (%arg0 = %3 : !attn.array<[h], i64>) -> !attn.array<[h], i64> {
    %c2_i64 = arith.constant 2 : i64
    %6 = arith.floordivsi %arg0, %c2_i64 : i64
    attn.yield %6 : i64
  }
  %k_1 = attn.read %k [%4, j, d] : (!attn.array<[hk, j, d], f32>, !attn.array<[h], i64>) -> !attn.array<[h, d, j], f32> loc("k")
  %5 = attn.map (%arg0 = %q_0 : !attn.array<[h, i, d], f32>, %arg1 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %6 = arith.mulf %arg0, %arg1 : f32
    attn.yield %6 : f32
  }
  %s = attn.reduce add over [d] %5 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %lse = attn.reduce logsumexp over [j] %s : <[h, i, j], f32> -> <[h, i], f32> loc("lse")
  attn.output "lse" [h, i] %lse as f32 : <[h, i], f32> loc("lse")
}
