// A value for each pair of positions that is stored: the dim along which the values lie is streamed,
// and the rows are those of a pass over it. Where rows would be the stream of such a pass, products
// of 16 bits give the same, and those of f32 do not. Small matrices stay as they are.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="through=pair-roles target=sm_80" %s | FileCheck %s
// Without a target nothing is known of tiles.
// RUN: %through-pair-roles %s | FileCheck %s --check-prefix=NONE

// CHECK:     red.nest grid [h] row [i] stream [j] inner [d] : !attn.array<[h, i], f32>
// CHECK:     %[[P:.*]] = red.nest grid [h] row [i] stream [j] inner [d] : !attn.array<[h, i, j], f32>
// CHECK:     %[[T:.*]] = red.nest grid [h] row [j] stream [i] inner [d] : !attn.array<[h, i, j], f32>
// CHECK:     %[[R:.*]] = red.nest grid [h, i, j] row [] stream [] inner [d]
// CHECK:     %[[C:.*]] = red.nest grid [h, m, n] row [] stream [] inner [f]
// CHECK:     attn.output "p" [h, i, j] %[[P]]
// CHECK:     attn.output "t" [h, j, i] %[[T]]
// CHECK:     attn.output "r" [h, j, i] %[[R]]
// CHECK:     attn.output "c" [h, m, n] %[[C]]
// NONE-COUNT-4: red.nest grid [h, {{[im]}}, {{[jn]}}] row [] stream []

attn.program @weights dims [h, i, d = 16, j, m = 8, f = 4, n = 8] {
  %q = attn.input "q" : <[h, i, d], bf16>
  %k = attn.input "k" : <[h, j, d], bf16>
  %x = attn.input "x" : <[h, i, d], f32>
  %y = attn.input "y" : <[h, j, d], f32>
  %u = attn.input "u" : <[h, m, f], bf16>
  %w = attn.input "w" : <[h, n, f], bf16>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %0 = attn.map (%q_6 = %q_0 : !attn.array<[h, i, d], f32>, %k_7 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_6, %k_7 : f32
    attn.yield %5 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.softmax over [j] %1 : <[h, i, j], f32> -> <[h, i, j], f32>
  %t = attn.map (%p_6 = %p : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %cst = arith.constant 2.000000e+00 : f32
    %5 = arith.mulf %p_6, %cst : f32
    attn.yield %5 : f32
  }
  %x_2 = attn.read %x [h, i, d] : (!attn.array<[h, i, d], f32>) -> !attn.array<[h, i, d], f32>
  %y_3 = attn.read %y [h, j, d] : (!attn.array<[h, j, d], f32>) -> !attn.array<[h, d, j], f32>
  %2 = attn.map (%x_6 = %x_2 : !attn.array<[h, i, d], f32>, %y_7 = %y_3 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %x_6, %y_7 : f32
    attn.yield %5 : f32
  }
  %3 = attn.reduce add over [d] %2 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %r = attn.softmax over [j] %3 : <[h, i, j], f32> -> <[h, i, j], f32>
  %u_4 = attn.read %u [h, m, f] : (!attn.array<[h, m, f], bf16>) -> !attn.array<[h, m, f], f32>
  %w_5 = attn.read %w [h, n, f] : (!attn.array<[h, n, f], bf16>) -> !attn.array<[h, f, n], f32>
  %4 = attn.map (%u_6 = %u_4 : !attn.array<[h, m, f], f32>, %w_7 = %w_5 : !attn.array<[h, f, n], f32>) -> !attn.array<[h, m, f, n], f32> {
    %5 = arith.mulf %u_6, %w_7 : f32
    attn.yield %5 : f32
  }
  %c = attn.reduce add over [f] %4 : <[h, m, f, n], f32> -> <[h, m, n], f32>
  attn.output "p" [h, i, j] %p as bf16 : <[h, i, j], f32>
  attn.output "t" [h, j, i] %t as bf16 : <[h, i, j], f32>
  attn.output "r" [h, j, i] %r as f32 : <[h, i, j], f32>
  attn.output "c" [h, m, n] %c as f32 : <[h, m, n], f32>
}
