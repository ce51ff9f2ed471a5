// Where one index solves a subscript, the subscript is inverted: no sum over the places that read.
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=x},canonicalize,cse))' | FileCheck %s

// x[i - 1] is read at i = 1 + the element's index, if that is one: i less the subscript at 0.
// CHECK-LABEL: @shifted
// CHECK:     %[[I:.*]] = attn.index i
// CHECK:     %grad_o = attn.input
// CHECK:     %[[ZERO:.*]] = attn.map () -> !attn.array<[], i64>
// CHECK-NEXT:  arith.constant 0 : i64
// CHECK:     %[[START:.*]] = attn.map (%[[Z:.*]] = %[[ZERO]] :
// CHECK:       %[[ONE:.*]] = arith.constant 1 : i64
// CHECK-NEXT:  arith.subi %[[Z]], %[[ONE]]
// CHECK:     %[[AT:.*]] = attn.map (%[[A:.*]] = %[[I]] : {{.*}}, %[[B:.*]] = %[[START]] :
// CHECK-NEXT:  arith.subi %[[A]], %[[B]]
// CHECK:     arith.cmpi sge
// CHECK:     arith.cmpi slt
// CHECK:     attn.read %grad_o [%[[AT]]] else 0.0
// CHECK-NOT: attn.reduce

attn.program @shifted dims [i] {
  %x = attn.input "x" : <[i], f32> loc("x")
  %w = attn.input "w" : <[i], f32> loc("w")
  %0 = attn.index i : <[i], i64>
  %1 = attn.map (%arg0 = %0 : !attn.array<[i], i64>) -> !attn.array<[i], i64> {
    %c1_i64 = arith.constant 1 : i64
    %2 = arith.subi %arg0, %c1_i64 : i64
    attn.yield %2 : i64
  }
  %x_0 = attn.read %x [%1] else 0.000000e+00 : (!attn.array<[i], f32>, !attn.array<[i], i64>) -> !attn.array<[i], f32>
  %w_1 = attn.read %w [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %o = attn.map (%x_2 = %x_0 : !attn.array<[i], f32>, %w_3 = %w_1 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %2 = arith.mulf %x_2, %w_3 : f32
    attn.yield %2 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}

// -----

// x[size(i) - 1 - i] falls with i: the subscript at 0 less the element's index.
// CHECK-LABEL: @reversed
// CHECK:     %[[I:.*]] = attn.index i
// CHECK:     %grad_o = attn.input
// CHECK:     %[[AT:.*]] = attn.map (%[[A:.*]] = %[[I]] : {{.*}}, %[[B:.*]] = %{{.*}} : !attn.array<[], i64>) -> !attn.array<[i], i64>
// CHECK-NEXT:  arith.subi %[[B]], %[[A]]
// CHECK:     attn.read %grad_o [%[[AT]]] else 0.0
// CHECK-NOT: attn.reduce

attn.program @reversed dims [i] {
  %x = attn.input "x" : <[i], f32> loc("x")
  %w = attn.input "w" : <[i], f32> loc("w")
  %0 = attn.size i : <[], i64>
  %1 = attn.index i : <[i], i64>
  %2 = attn.map (%arg0 = %0 : !attn.array<[], i64>, %arg1 = %1 : !attn.array<[i], i64>) -> !attn.array<[i], i64> {
    %c1_i64 = arith.constant 1 : i64
    %3 = arith.subi %arg0, %c1_i64 : i64
    %4 = arith.subi %3, %arg1 : i64
    attn.yield %4 : i64
  }
  %x_0 = attn.read %x [%2] : (!attn.array<[i], f32>, !attn.array<[i], i64>) -> !attn.array<[i], f32>
  %w_1 = attn.read %w [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %o = attn.map (%x_2 = %x_0 : !attn.array<[i], f32>, %w_3 = %w_1 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %3 = arith.mulf %x_2, %w_3 : f32
    attn.yield %3 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
