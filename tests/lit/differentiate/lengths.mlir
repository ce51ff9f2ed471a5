// Elements beyond a length are not read, so their gradient is 0: the condition of the read is that of
// its gradient. (The read itself is at the index or, beyond the length, at -1.)
//   o = sum(j, x * x) with j of the extent len[b]
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=x},canonicalize,cse))' | FileCheck %s

// CHECK:     %[[LENGTH:.*]] = attn.map {{.*}} -> !attn.array<[b], i64>
// CHECK:       arith.minsi
// CHECK:     %grad_o = attn.input
// CHECK:     %[[PRESENT:.*]] = attn.map ({{.*}}, %[[L:.*]] = %[[LENGTH]] : {{.*}}) -> !attn.array<[b, j], i1>
// CHECK-NEXT:  arith.cmpi slt, %{{.*}}, %[[L]]
// CHECK:     attn.map (%[[IS:.*]] = %[[PRESENT]] :
// CHECK:       %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT:  arith.select %[[IS]], %{{.*}}, %[[ZERO]]

attn.program @lengths dims [b, j] {
  %len = attn.input "len" : <[b], i32> loc("len")
  %x = attn.input "x" : <[b, j], f32> loc("x")
  %len_0 = attn.read %len [b] : (!attn.array<[b], i32>) -> !attn.array<[b], i64>
  attn.extent j %len_0 : <[b], i64>
  %j_given = attn.size j : <[], i64>
  %j_length = attn.map (%len_3 = %len_0 : !attn.array<[b], i64>, %j_given_4 = %j_given : !attn.array<[], i64>) -> !attn.array<[b], i64> {
    %j_given_5 = arith.constant 0 : i64
    %j_given_6 = arith.maxsi %len_3, %j_given_5 : i64
    %j_given_7 = arith.minsi %j_given_6, %j_given_4 : i64
    attn.yield %j_given_7 : i64
  }
  %x_1 = attn.index j : <[j], i64>
  %j_kept = attn.map (%x_3 = %x_1 : !attn.array<[j], i64>, %j_length_4 = %j_length : !attn.array<[b], i64>) -> !attn.array<[b, j], i64> {
    %x_5 = arith.cmpi slt, %x_3, %j_length_4 : i64
    %x_6 = arith.constant -1 : i64
    %x_7 = arith.select %x_5, %x_3, %x_6 : i64
    attn.yield %x_7 : i64
  }
  %x_2 = attn.read %x [b, %j_kept] else 0.000000e+00 {attn.checked = ["", ""]} : (!attn.array<[b, j], f32>, !attn.array<[b, j], i64>) -> !attn.array<[b, j], f32>
  %0 = attn.map (%x_3 = %x_2 : !attn.array<[b, j], f32>) -> !attn.array<[b, j], f32> {
    %1 = arith.mulf %x_3, %x_3 : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[b, j], f32> -> <[b], f32> loc("o")
  attn.output "o" [b] %o as f32 : <[b], f32> loc("o")
}
