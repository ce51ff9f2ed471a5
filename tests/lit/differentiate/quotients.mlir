// The gradient of a quotient with respect to its dividend, where the gradient that comes in is 0: by
// a constant or a param above 0 it is 0 too, and nothing guards it; by what was computed, it may be
// 0 / 0.
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=x},canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: @by_a_constant
// CHECK:     %grad_o = attn.input
// CHECK:     arith.divf
// CHECK-NOT: arith.select
// CHECK:     attn.output "grad_x"
attn.program @by_a_constant dims [i] {
  %x = attn.input "x" : <[i], f32> loc("x")
  %x_1 = attn.read %x [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %o = attn.map (%v = %x_1 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %cst = arith.constant 3.000000e+00 : f32
    %0 = arith.divf %v, %cst : f32
    attn.yield %0 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}

// -----

// CHECK-LABEL: @by_a_value
// CHECK:     %grad_o = attn.input
// CHECK:     arith.divf
// CHECK:     arith.select
// CHECK:     attn.output "grad_x"
attn.program @by_a_value dims [i] {
  %x = attn.input "x" : <[i], f32> loc("x")
  %y = attn.input "y" : <[i], f32> loc("y")
  %x_1 = attn.read %x [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %y_1 = attn.read %y [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %o = attn.map (%v = %x_1 : !attn.array<[i], f32>, %w = %y_1 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %0 = arith.divf %v, %w : f32
    attn.yield %0 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}

// -----

// CHECK-LABEL: @by_a_param_above_0
// CHECK:     %grad_o = attn.input
// CHECK:     arith.divf
// CHECK-NOT: arith.select
// CHECK:     attn.output "grad_x"
attn.program @by_a_param_above_0 dims [i] {
  %c = attn.param "c" {lower = 0.0 : f64, lower_open} -> !attn.array<[], f32>
  %x = attn.input "x" : <[i], f32> loc("x")
  %x_1 = attn.read %x [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %o = attn.map (%v = %x_1 : !attn.array<[i], f32>, %w = %c : !attn.array<[], f32>) -> !attn.array<[i], f32> {
    %0 = arith.divf %v, %w : f32
    attn.yield %0 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}

// -----

// CHECK-LABEL: @by_a_param_of_at_least_0
// CHECK:     %grad_o = attn.input
// CHECK:     arith.divf
// CHECK:     arith.select
// CHECK:     attn.output "grad_x"
attn.program @by_a_param_of_at_least_0 dims [i] {
  %c = attn.param "c" {lower = 0.0 : f64} -> !attn.array<[], f32>
  %x = attn.input "x" : <[i], f32> loc("x")
  %x_1 = attn.read %x [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %o = attn.map (%v = %x_1 : !attn.array<[i], f32>, %w = %c : !attn.array<[], f32>) -> !attn.array<[i], f32> {
    %0 = arith.divf %v, %w : f32
    attn.yield %0 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
