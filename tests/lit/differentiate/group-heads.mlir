// A key's gradient is the sum over the query heads of its group.
//   o = sum(j, q[h, i] * k[h // g, j])
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=k},canonicalize,cse))' | FileCheck %s

// CHECK:     %[[GROUP:.*]] = attn.map ({{.*}} -> !attn.array<[h], i64>
// CHECK-NEXT:  arith.floordivsi
// CHECK:     %grad_o = attn.input
// CHECK:     %[[HK:.*]] = attn.index hk
// CHECK:     attn.map (%[[A:.*]] = %[[GROUP]] : {{.*}}, %[[B:.*]] = %[[HK]] : {{.*}} -> !attn.array<[h, hk], i1>
// CHECK-NEXT:  arith.cmpi eq, %[[A]], %[[B]]
// CHECK:     %grad_k = attn.reduce add over [h]
// CHECK:     attn.output "grad_k" [hk, j]

attn.program @group dims [h, i, hk, j] {
  %q = attn.input "q" : <[h, i], f32> loc("q")
  %k = attn.input "k" : <[hk, j], f32> loc("k")
  %0 = attn.size h : <[], i64>
  %1 = attn.size hk : <[], i64>
  %2 = attn.map (%arg0 = %0 : !attn.array<[], i64>, %arg1 = %1 : !attn.array<[], i64>) -> !attn.array<[], i1> {
    %6 = attn.mod %arg0, %arg1 : i64
    %c0_i64 = arith.constant 0 : i64
    %7 = arith.cmpi eq, %6, %c0_i64 : i64
    attn.yield %7 : i1
  }
  attn.require "size(h) % size(hk) == 0" %2 : <[], i1>
  %g = attn.map (%arg0 = %0 : !attn.array<[], i64>, %arg1 = %1 : !attn.array<[], i64>) -> !attn.array<[], i64> {
    %6 = arith.floordivsi %arg0, %arg1 : i64
    attn.yield %6 : i64
  } loc("g")
  %q_0 = attn.read %q [h, i] : (!attn.array<[h, i], f32>) -> !attn.array<[h, i], f32>
  %3 = attn.index h : <[h], i64>
  %4 = attn.map (%arg0 = %3 : !attn.array<[h], i64>, %g_2 = %g : !attn.array<[], i64>) -> !attn.array<[h], i64> {
    %6 = arith.floordivsi %arg0, %g_2 : i64
    attn.yield %6 : i64
  }
  %k_1 = attn.read %k [%4, j] : (!attn.array<[hk, j], f32>, !attn.array<[h], i64>) -> !attn.array<[h, j], f32>
  %5 = attn.map (%q_2 = %q_0 : !attn.array<[h, i], f32>, %k_3 = %k_1 : !attn.array<[h, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.mulf %q_2, %k_3 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %5 : <[h, i, j], f32> -> <[h, i], f32> loc("o")
  attn.output "o" [h, i] %o as f32 : <[h, i], f32> loc("o")
}
