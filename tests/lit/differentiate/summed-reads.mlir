// What no single index solves is a sum over all places that may read the element, under the condition
// that they do.
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=x},canonicalize,cse))' | FileCheck %s

//   o[j] = (x[table[j]] else 0) * w[j]
// CHECK:     %[[T:.*]] = attn.read %table [j]
// CHECK:     %grad_o = attn.input
// CHECK:     %[[N:.*]] = attn.index n
// CHECK:     attn.map (%[[A:.*]] = %[[T]] : {{.*}}, %[[B:.*]] = %[[N]] : {{.*}} -> !attn.array<[n, j], i1>
// CHECK-NEXT:  arith.cmpi eq, %[[A]], %[[B]]
// CHECK:     arith.select
// CHECK:     %grad_x = attn.reduce add over [j] {{.*}} : <[n, j], f32> -> <[n], f32>

attn.program @table dims [n, j] {
  %x = attn.input "x" : <[n], f32> loc("x")
  %table = attn.input "table" : <[j], i32> loc("table")
  %w = attn.input "w" : <[j], f32> loc("w")
  %table_0 = attn.read %table [j] : (!attn.array<[j], i32>) -> !attn.array<[j], i64>
  %x_1 = attn.read %x [%table_0] else 0.000000e+00 {attn.checked = ["table"]} : (!attn.array<[n], f32>, !attn.array<[j], i64>) -> !attn.array<[j], f32>
  %w_2 = attn.read %w [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %o = attn.map (%x_3 = %x_1 : !attn.array<[j], f32>, %w_4 = %w_2 : !attn.array<[j], f32>) -> !attn.array<[j], f32> {
    %0 = arith.mulf %x_3, %w_4 : f32
    attn.yield %0 : f32
  } loc("o")
  attn.output "o" [j] %o as f32 : <[j], f32> loc("o")
}
