// Saved is what is folded and no larger than the tensors: the maximum and the inverse of the sum (the
// sum itself is not: nothing else needs it). What has both dims is computed again.
//   p = softmax(j, s), o = sum(j, p * v)
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=q},desugar,lower-to-nests,reassociate),halve)' | FileCheck %s

// CHECK-LABEL: attn.program @attention
// CHECK-NOT: attn.input "grad_o"
// CHECK:     attn.output "o"
// CHECK-NEXT: attn.output "saved_p_max" [i]
// CHECK-NEXT: attn.output "saved_p_inv" [i]
// CHECK-NEXT: attn.output "saved_o" [i, e]
// CHECK-NOT: attn.output
// CHECK-LABEL: attn.program @attention_grad
// A fact of the maximum is kept, and it is not computed again.
// CHECK:     %[[MAX:.*]] = attn.input "saved_p_max" : <[i], f32>
// CHECK-NEXT: %[[READ:.*]] = attn.read %[[MAX]] [i]
// CHECK-NEXT: red.at_most {{.*}}%[[READ]]
// CHECK-NOT: red.fold max
// CHECK:     attn.input "saved_p_inv" : <[i], f32>
// CHECK-NOT: red.fold max
// CHECK:     attn.input "saved_o" : <[i, e], f32>
// CHECK-NOT: red.fold max
// CHECK-NOT: attn.output "o"
// CHECK:     attn.output "grad_q"

attn.program @attention dims [i, d = 4, j, e = 4] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[i, d], f32>, %k_4 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32>
  %p = attn.softmax over [j] %1 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %v_2 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %2 = attn.map (%p_3 = %p : !attn.array<[i, j], f32>, %v_4 = %v_2 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %3 = arith.mulf %p_3, %v_4 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %2 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
