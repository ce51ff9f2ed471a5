// Positions and heads could both be the rows of a tile, because the keys have neither. The mask
// compares positions with the stream's indices, so these are the rows.
//   o[b,i,h,e] = sum(j, softmax(j, where(j <= i, sum(d, q[b,i,h,d] * k[b,j,d]), -inf)) * v[b,j,e])
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK: red.nest grid [b, h] row [i] stream [j] inner [d, e]

module {
  attn.program @multi_query_heads_last dims [b, i, h, d = 64, j, e = 64] attributes {doc = "One key head for all query heads, which come after the positions, with a causal mask"} {
    %q = attn.input "q" : <[b, i, h, d], bf16>
    %k = attn.input "k" : <[b, j, d], bf16>
    %v = attn.input "v" : <[b, j, e], bf16>
    %q_0 = attn.read %q [b, i, h, d] : (!attn.array<[b, i, h, d], bf16>) -> !attn.array<[b, i, h, d], f32>
    %k_1 = attn.read %k [b, j, d] : (!attn.array<[b, j, d], bf16>) -> !attn.array<[b, d, j], f32>
    %0 = attn.map (%q_3 = %q_0 : !attn.array<[b, i, h, d], f32>, %k_4 = %k_1 : !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, h, d, j], f32> {
      %7 = arith.mulf %q_3, %k_4 : f32
      attn.yield %7 : f32
    }
    %1 = attn.reduce add over [d] %0 : <[b, i, h, d, j], f32> -> <[b, i, h, j], f32>
    %s = attn.map (%arg0 = %1 : !attn.array<[b, i, h, j], f32>) -> !attn.array<[b, i, h, j], f32> {
      %cst = arith.constant 1.250000e-01 : f32
      %7 = arith.mulf %arg0, %cst : f32
      attn.yield %7 : f32
    }
    %2 = attn.index j : <[j], i64>
    %3 = attn.index i : <[i], i64>
    %4 = attn.map (%arg0 = %2 : !attn.array<[j], i64>, %arg1 = %3 : !attn.array<[i], i64>, %s_3 = %s : !attn.array<[b, i, h, j], f32>) -> !attn.array<[b, i, h, j], f32> {
      %7 = arith.cmpi sle, %arg0, %arg1 : i64
      %cst = arith.constant 0xFF800000 : f32
      %8 = arith.select %7, %s_3, %cst : f32
      attn.yield %8 : f32
    }
    %5 = attn.softmax over [j] %4 : <[b, i, h, j], f32> -> <[b, i, h, j], f32>
    %v_2 = attn.read %v [b, j, e] : (!attn.array<[b, j, e], bf16>) -> !attn.array<[b, j, e], f32>
    %6 = attn.map (%arg0 = %5 : !attn.array<[b, i, h, j], f32>, %v_3 = %v_2 : !attn.array<[b, j, e], f32>) -> !attn.array<[b, i, h, j, e], f32> {
      %7 = arith.mulf %arg0, %v_3 : f32
      attn.yield %7 : f32
    }
    %o = attn.reduce add over [j] %6 : <[b, i, h, j, e], f32> -> <[b, i, h, e], f32>
    attn.output "o" [b, i, h, e] %o as bf16 : <[b, i, h, e], f32>
  }
}
