// A maximum of computed elements that is compared with them, as its gradient does, is computed where
// the comparison is: in the other program's arithmetic no element might be it. The same holds for how
// many elements are the maximum. A maximum of what is read is the same number in both.
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=x},desugar,lower-to-nests,reassociate),halve)' | FileCheck %s

//   o = max(j, p * 2), p = exp(x) / sum(j, exp(x))
// CHECK-LABEL: attn.program @computed_grad
// CHECK-NOT: attn.input "saved_o
// CHECK:     red.fold max over [j]
// CHECK:     arith.cmpf oeq
// CHECK:     attn.output "grad_x"

attn.program @computed dims [i, j] {
  %x = attn.input "x" : <[i, j], f32> loc("x")
  %x_0 = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %w = attn.map (%x_1 = %x_0 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %2 = math.exp %x_1 : f32
    attn.yield %2 : f32
  } loc("w")
  %0 = attn.reduce add over [j] %w : <[i, j], f32> -> <[i], f32>
  %1 = attn.map (%w_1 = %w : !attn.array<[i, j], f32>, %arg1 = %0 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %2 = arith.divf %w_1, %arg1 : f32
    %cst = arith.constant 2.000000e+00 : f32
    %3 = arith.mulf %2, %cst : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce max over [j] %1 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}

// -----

//   o = max(j, x)
// CHECK-LABEL: attn.program @given_grad
// CHECK-DAG: attn.input "saved_o" : <[i], f32>
// CHECK-DAG: attn.input "saved_o_2" : <[i], f32>
// CHECK-NOT: red.fold max

attn.program @given dims [i, j] {
  %x = attn.input "x" : <[i, j], f32> loc("x")
  %x_0 = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %o = attn.reduce max over [j] %x_0 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
