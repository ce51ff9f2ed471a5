// Each factor gets the gradient times the other; what is used all along a dim gets the sum over it,
// and what is summed gets the gradient of the sum at every index.
//   o[i] = sum(j, x[i,j] * v[j])
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=x,v},canonicalize,cse))' | FileCheck %s

// CHECK:     %[[X:.*]] = attn.read %x [i, j]
// CHECK:     %[[V:.*]] = attn.read %v [j]
// CHECK:     %grad_o = attn.input "grad_o" : <[i], f32>
// CHECK:     %[[G:.*]] = attn.read %grad_o [i]
// CHECK:     %grad_x = attn.map ({{.*}} = %[[V]] : {{.*}}, {{.*}} = %[[G]] : {{.*}} -> !attn.array<[i, j], f32>
// CHECK-NEXT:  arith.mulf
// CHECK:     %[[P:.*]] = attn.map ({{.*}} = %[[X]] : {{.*}}, {{.*}} = %[[G]] : {{.*}} -> !attn.array<[i, j], f32>
// CHECK-NEXT:  arith.mulf
// CHECK:     %grad_v = attn.reduce add over [i] %[[P]] : <[i, j], f32> -> <[j], f32>
// CHECK:     attn.output "grad_x" [i, j] %grad_x as f32
// CHECK:     attn.output "grad_v" [j] %grad_v as f32

attn.program @product_and_sum dims [i, j] {
  %x = attn.input "x" : <[i, j], f32> loc("x")
  %v = attn.input "v" : <[j], f32> loc("v")
  %x_0 = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %v_1 = attn.read %v [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %0 = attn.map (%x_2 = %x_0 : !attn.array<[i, j], f32>, %v_3 = %v_1 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %1 = arith.mulf %x_2, %v_3 : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
