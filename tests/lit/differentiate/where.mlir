// The side that is not taken has a gradient of 0, and 0 it stays though 1 / x may be infinite.
//   o = where(c, log(x), 0)
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=x},canonicalize,cse))' | FileCheck %s

// CHECK:     %[[C:.*]] = attn.read %c [i]
// CHECK:     %[[X:.*]] = attn.read %x [i]
// CHECK:     %grad_o = attn.input
// CHECK:     %grad_x = attn.map (%[[COND:.*]] = %[[C]] : {{.*}}, %[[V:.*]] = %[[X]] : {{.*}}, %[[G:.*]] = %{{.*}} :
// CHECK:       %[[ZERO:.*]] = arith.constant 0.0
// CHECK:       %[[TAKEN:.*]] = arith.select %[[COND]], %[[G]], %[[ZERO]]
// CHECK:       %[[Q:.*]] = arith.divf %[[TAKEN]], %[[V]]
// CHECK:       %[[NONE:.*]] = arith.cmpf oeq, %[[TAKEN]], %[[ZERO]]
// CHECK:       %[[R:.*]] = arith.select %[[NONE]], %[[ZERO]], %[[Q]]
// CHECK:       attn.yield %[[R]]

attn.program @choice dims [i] {
  %x = attn.input "x" : <[i], f32> loc("x")
  %c = attn.input "c" : <[i], i1> loc("c")
  %c_0 = attn.read %c [i] : (!attn.array<[i], i1>) -> !attn.array<[i], i1>
  %x_1 = attn.read %x [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %o = attn.map (%c_2 = %c_0 : !attn.array<[i], i1>, %x_3 = %x_1 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %0 = math.log %x_3 : f32
    %cst = arith.constant 0.000000e+00 : f32
    %1 = arith.select %c_2, %0, %cst : f32
    attn.yield %1 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
