// Halves of f32 are made by a pass over the tensor. Where each key is known to be multiplied by few rows, that
// takes more than wgmma saves, and the nest is portable; a schedule may still say otherwise.
// RUN: attnc-opt --attnc-pipeline="through=choose-schedules target=sm_90a" %s | FileCheck %s

// CHECK-LABEL: attn.program @rows199
// CHECK: red.nest {{.*}} schedule(#tile.portable<
// CHECK: halves of 'k' would be multiplied 199 times, and 200 make up for a pass that makes them
// CHECK-LABEL: attn.program @rows200
// CHECK: red.nest {{.*}} schedule(#tile.warpgroups<
attn.program @rows199 dims [b, m = 199, d = 64, j, e = 64] attributes {attn.reference = {b = 1 : i64, j = 300 : i64}} {
  %q = attn.input "q" : <[b, m, d], f32>
  %k = attn.input "k" : <[b, j, d], f32>
  %v = attn.input "v" : <[b, j, e], f32>
  %q_0 = attn.read %q [b, m, d] : (!attn.array<[b, m, d], f32>) -> !attn.array<[b, m, d], f32>
  %k_1 = attn.read %k [b, j, d] : (!attn.array<[b, j, d], f32>) -> !attn.array<[b, d, j], f32>
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[b, m, d], f32>, %k_4 = %k_1 : !attn.array<[b, d, j], f32>) -> !attn.array<[b, m, d, j], f32> {
    %4 = arith.mulf %q_3, %k_4 : f32
    attn.yield %4 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[b, m, d, j], f32> -> <[b, m, j], f32>
  %2 = attn.map (%arg0 = %1 : !attn.array<[b, m, j], f32>) -> !attn.array<[b, m, j], f32> {
    %cst = arith.constant 1.250000e-01 : f32
    %4 = arith.mulf %arg0, %cst : f32
    attn.yield %4 : f32
  }
  %p = attn.softmax over [j] %2 : <[b, m, j], f32> -> <[b, m, j], f32>
  %v_2 = attn.read %v [b, j, e] : (!attn.array<[b, j, e], f32>) -> !attn.array<[b, j, e], f32>
  %3 = attn.map (%p_3 = %p : !attn.array<[b, m, j], f32>, %v_4 = %v_2 : !attn.array<[b, j, e], f32>) -> !attn.array<[b, m, j, e], f32> {
    %4 = arith.mulf %p_3, %v_4 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %3 : <[b, m, j, e], f32> -> <[b, m, e], f32>
  attn.output "o" [b, m, e] %o as f32 : <[b, m, e], f32>
}

attn.program @rows200 dims [b, m = 200, d = 64, j, e = 64] attributes {attn.reference = {b = 1 : i64, j = 300 : i64}} {
  %q = attn.input "q" : <[b, m, d], f32>
  %k = attn.input "k" : <[b, j, d], f32>
  %v = attn.input "v" : <[b, j, e], f32>
  %q_0 = attn.read %q [b, m, d] : (!attn.array<[b, m, d], f32>) -> !attn.array<[b, m, d], f32>
  %k_1 = attn.read %k [b, j, d] : (!attn.array<[b, j, d], f32>) -> !attn.array<[b, d, j], f32>
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[b, m, d], f32>, %k_4 = %k_1 : !attn.array<[b, d, j], f32>) -> !attn.array<[b, m, d, j], f32> {
    %4 = arith.mulf %q_3, %k_4 : f32
    attn.yield %4 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[b, m, d, j], f32> -> <[b, m, j], f32>
  %2 = attn.map (%arg0 = %1 : !attn.array<[b, m, j], f32>) -> !attn.array<[b, m, j], f32> {
    %cst = arith.constant 1.250000e-01 : f32
    %4 = arith.mulf %arg0, %cst : f32
    attn.yield %4 : f32
  }
  %p = attn.softmax over [j] %2 : <[b, m, j], f32> -> <[b, m, j], f32>
  %v_2 = attn.read %v [b, j, e] : (!attn.array<[b, j, e], f32>) -> !attn.array<[b, j, e], f32>
  %3 = attn.map (%p_3 = %p : !attn.array<[b, m, j], f32>, %v_4 = %v_2 : !attn.array<[b, j, e], f32>) -> !attn.array<[b, m, j, e], f32> {
    %4 = arith.mulf %p_3, %v_4 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %3 : <[b, m, j, e], f32> -> <[b, m, e], f32>
  attn.output "o" [b, m, e] %o as f32 : <[b, m, e], f32>
}
