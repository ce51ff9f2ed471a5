// Sums of segments of a tensor of 16 bits are products with masks, over all of the tensor. One whose
// segments are as many as the rows of another pass over the same elements is a state of that pass,
// under the name of its rows, and is read under the name that it had; one of other segments has a
// pass of its own.
//   c[b,n,d] = sum(t, k[b,n*size(t)+t,d])            n = 16 segments of t = j / 16 keys
//   f[b,x,e] = sum(u, v[b,x*size(u)+u,e] else 0)     x = 8 segments of u = j / 8 keys
//   g[b,m,e] = sum(j, softmax(j, sum(d, p[b,m,d]*k[b,j,d])) * v[b,j,e])            m = 16
//   o[b,m] = sum(n, sum(d, p[b,m,d]*c[b,n,d]))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK-LABEL: attn.program @segments
// CHECK: red.nest grid [b] row [m] stream [j] inner [d, e]
// CHECK: %[[K:.*]] = attn.read %{{.*}} [b, j, d]
// CHECK: %[[MASK:.*]] = attn.map {{.*}} -> !attn.array<[m, j], f32>
// CHECK: red.fold add over [j](%[[MASK]], %[[K]]) {{.*}} -> !attn.array<[b, m, d], f32>
// CHECK: red.fold max over [j]
// CHECK: rule = "state"
// CHECK: attn.read {{.*}} [b, n, d] : (!attn.array<[b, m, d], f32>) -> !attn.array<[b, d, n], f32>
// CHECK: red.nest grid [b] row [x] stream [j] inner [e]
// CHECK: arith.addi
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK: red.fold add over [j]({{.*}}) : (!attn.array<[j, x], f32>, !attn.array<[b, j, e], f32>) -> !attn.array<[b, e, x], f32>

module {
  attn.program @segments dims [b, m = 16, d = 8, j, e = 8, n = 16, x = 8, t, u] {
    %p = attn.input "p" : <[b, m, d], f16>
    %k = attn.input "k" : <[b, j, d], f16>
    %v = attn.input "v" : <[b, j, e], f16>
    %0 = attn.size j : <[], i64>
    %t = attn.map (%arg0 = %0 : !attn.array<[], i64>) -> !attn.array<[], i64> {
      %c16_i64 = arith.constant 16 : i64
      %15 = arith.floordivsi %arg0, %c16_i64 : i64
      attn.yield %15 : i64
    }
    attn.extent t %t : <[], i64>
    %u = attn.map (%arg0 = %0 : !attn.array<[], i64>) -> !attn.array<[], i64> {
      %c8_i64 = arith.constant 8 : i64
      %15 = arith.floordivsi %arg0, %c8_i64 : i64
      attn.yield %15 : i64
    }
    attn.extent u %u : <[], i64>
    %1 = attn.index n : <[n], i64>
    %2 = attn.size t : <[], i64>
    %3 = attn.index t : <[t], i64>
    %4 = attn.map (%arg0 = %1 : !attn.array<[n], i64>, %arg1 = %2 : !attn.array<[], i64>, %arg2 = %3 : !attn.array<[t], i64>) -> !attn.array<[n, t], i64> {
      %15 = arith.muli %arg0, %arg1 : i64
      %16 = arith.addi %15, %arg2 : i64
      attn.yield %16 : i64
    }
    %k_0 = attn.read %k [b, %4, d] : (!attn.array<[b, j, d], f16>, !attn.array<[n, t], i64>) -> !attn.array<[b, d, n, t], f32>
    %c = attn.reduce add over [t] %k_0 : <[b, d, n, t], f32> -> <[b, d, n], f32>
    %5 = attn.index x : <[x], i64>
    %6 = attn.size u : <[], i64>
    %7 = attn.index u : <[u], i64>
    %8 = attn.map (%arg0 = %5 : !attn.array<[x], i64>, %arg1 = %6 : !attn.array<[], i64>, %arg2 = %7 : !attn.array<[u], i64>) -> !attn.array<[x, u], i64> {
      %15 = arith.muli %arg0, %arg1 : i64
      %16 = arith.addi %15, %arg2 : i64
      attn.yield %16 : i64
    }
    %v_1 = attn.read %v [b, %8, e] : (!attn.array<[b, j, e], f16>, !attn.array<[x, u], i64>) -> !attn.array<[b, e, x, u], f32>
    %f = attn.reduce add over [u] %v_1 : <[b, e, x, u], f32> -> <[b, e, x], f32>
    %p_2 = attn.read %p [b, m, d] : (!attn.array<[b, m, d], f16>) -> !attn.array<[b, m, d], f32>
    %k_3 = attn.read %k [b, j, d] : (!attn.array<[b, j, d], f16>) -> !attn.array<[b, d, j], f32>
    %9 = attn.map (%p_5 = %p_2 : !attn.array<[b, m, d], f32>, %k_6 = %k_3 : !attn.array<[b, d, j], f32>) -> !attn.array<[b, m, d, j], f32> {
      %15 = arith.mulf %p_5, %k_6 : f32
      attn.yield %15 : f32
    }
    %10 = attn.reduce add over [d] %9 : <[b, m, d, j], f32> -> <[b, m, j], f32>
    %11 = attn.softmax over [j] %10 : <[b, m, j], f32> -> <[b, m, j], f32>
    %v_4 = attn.read %v [b, j, e] : (!attn.array<[b, j, e], f16>) -> !attn.array<[b, j, e], f32>
    %12 = attn.map (%arg0 = %11 : !attn.array<[b, m, j], f32>, %v_5 = %v_4 : !attn.array<[b, j, e], f32>) -> !attn.array<[b, m, j, e], f32> {
      %15 = arith.mulf %arg0, %v_5 : f32
      attn.yield %15 : f32
    }
    %g = attn.reduce add over [j] %12 : <[b, m, j, e], f32> -> <[b, m, e], f32>
    %13 = attn.map (%p_5 = %p_2 : !attn.array<[b, m, d], f32>, %c_6 = %c : !attn.array<[b, d, n], f32>) -> !attn.array<[b, m, d, n], f32> {
      %15 = arith.mulf %p_5, %c_6 : f32
      attn.yield %15 : f32
    }
    %14 = attn.reduce add over [d] %13 : <[b, m, d, n], f32> -> <[b, m, n], f32>
    %o = attn.reduce add over [n] %14 : <[b, m, n], f32> -> <[b, m], f32>
    attn.output "o" [b, m] %o as f32 : <[b, m], f32>
    attn.output "f" [b, x, e] %f as f32 : <[b, e, x], f32>
    attn.output "g" [b, m, e] %g as f32 : <[b, m, e], f32>
  }
}
