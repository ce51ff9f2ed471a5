// What exponentials of plain weights take: a difference that asks nothing of each element, and row sums
// where the weights are made, with a mask and without.
// RUN: attnc-opt --attnc-pipeline="target=sm_90a" --emit-cuda -o /dev/null %s | FileCheck %s

// CHECK-LABEL: column_sums_c(
// CHECK-NOT: minus(
// CHECK: exp(exponent(scores[n] * scale, {{.*}}.element(0,
// CHECK: reduceRows<Add>([[C:.*]], weight);
// CHECK-NEXT: } else {
// CHECK: exponent(j <= i ? scores[n] * scale : -kInfinity,
// CHECK: reduceRows<Add>([[C]], weight);
// CHECK-NOT: minus(
attn.program @column_sums dims [b, h, i, d = 64, j, e = 64] attributes {attn.reference = {b = 2 : i64, h = 3 : i64, i = 77 : i64, j = 131 : i64}, doc = "Attention and how much weight each key receives, as evictions from a cache need it; Zhang et al. 2023, H2O"} {
  %q = attn.input "q" : <[b, h, i, d], bf16>
  %k = attn.input "k" : <[b, h, j, d], bf16>
  %v = attn.input "v" : <[b, h, j, e], bf16>
  %0 = attn.map () -> !attn.array<[], f32> {
    %cst = arith.constant 1.250000e-01 : f32
    attn.yield %cst : f32
  }
  %scale = attn.param "scale" default %0 : !attn.array<[], f32> {lower = 0.000000e+00 : f64, lower_open} -> <[], f32>
  %q_0 = attn.read %q [b, h, i, d] : (!attn.array<[b, h, i, d], bf16>) -> !attn.array<[b, h, i, d], f32>
  %k_1 = attn.read %k [b, h, j, d] : (!attn.array<[b, h, j, d], bf16>) -> !attn.array<[b, h, d, j], f32>
  %1 = attn.map (%q_3 = %q_0 : !attn.array<[b, h, i, d], f32>, %k_4 = %k_1 : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, d, j], f32> {
    %7 = arith.mulf %q_3, %k_4 : f32
    attn.yield %7 : f32
  }
  %2 = attn.reduce add over [d] %1 : <[b, h, i, d, j], f32> -> <[b, h, i, j], f32>
  %s = attn.map (%arg0 = %2 : !attn.array<[b, h, i, j], f32>, %scale_3 = %scale : !attn.array<[], f32>) -> !attn.array<[b, h, i, j], f32> {
    %7 = arith.mulf %arg0, %scale_3 : f32
    attn.yield %7 : f32
  }
  %3 = attn.index j : <[j], i64>
  %4 = attn.index i : <[i], i64>
  %5 = attn.map (%arg0 = %3 : !attn.array<[j], i64>, %arg1 = %4 : !attn.array<[i], i64>, %s_3 = %s : !attn.array<[b, h, i, j], f32>) -> !attn.array<[b, h, i, j], f32> {
    %7 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0xFF800000 : f32
    %8 = arith.select %7, %s_3, %cst : f32
    attn.yield %8 : f32
  }
  %p = attn.softmax over [j] %5 : <[b, h, i, j], f32> -> <[b, h, i, j], f32>
  %v_2 = attn.read %v [b, h, j, e] : (!attn.array<[b, h, j, e], bf16>) -> !attn.array<[b, h, j, e], f32>
  %6 = attn.map (%p_3 = %p : !attn.array<[b, h, i, j], f32>, %v_4 = %v_2 : !attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, i, j, e], f32> {
    %7 = arith.mulf %p_3, %v_4 : f32
    attn.yield %7 : f32
  }
  %o = attn.reduce add over [j] %6 : <[b, h, i, j, e], f32> -> <[b, h, i, e], f32>
  %c = attn.reduce add over [i] %p : <[b, h, i, j], f32> -> <[b, h, j], f32>
  attn.output "o" [b, h, i, e] %o as bf16 : <[b, h, i, e], f32>
  attn.output "c" [b, h, j] %c as f32 : <[b, h, j], f32>
}
