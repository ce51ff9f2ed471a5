// Columns of two dims, r and x, become one that tiles can have: tensors are read at its quotient and
// remainder, a reader of the result at the combination of its own indices, and the output is stored
// with the dims that it had.
//   m[b,i,h,r,x] = sum(j, p * v[b,j,h,r,x]) - t[b,i,x]
//   n[b,i,h,r] = sum(x, m * m)
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="through=flatten-columns target=sm_80" %s | FileCheck %s

// CHECK: attn.program @columns_of_two_dims dims [{{.*}}r_x = 24]
// CHECK: red.nest grid [b, h] row [i] stream [j] inner [d, r_x]
// CHECK:   %[[AT:.*]] = attn.index r_x
// CHECK:   %[[R:.*]] = attn.map ({{.*}} = %[[AT]]
// CHECK:     arith.floordivsi
// CHECK:   %[[X:.*]] = attn.map ({{.*}} = %[[AT]]
// CHECK:     attn.mod
// CHECK:   attn.read %{{.*}} [b, j, h, %[[R]], %[[X]]]
// CHECK:   red.fold add over [j]({{.*}}) exp{{.*}} -> !attn.array<[b, i, h, r_x], f32>
// CHECK:   attn.read %{{.*}} [b, i, %[[X]]]
// CHECK: red.nest grid [b, i, h, r, x] row [] stream [] inner []
// CHECK:   %[[WHOLE:.*]] = attn.map
// CHECK:     arith.muli
// CHECK:     arith.addi
// CHECK:   attn.read %{{.*}} [b, i, h, %[[WHOLE]]]
// CHECK: red.nest grid [b, i, h] row [r] stream [x] inner []
// CHECK:   %[[OWN:.*]] = attn.map
// CHECK:   attn.read %{{.*}} [b, i, h, %[[OWN]]]

attn.program @columns_of_two_dims dims [b, i, h, d = 32, j, r = 8, x = 3] {
  %q = attn.input "q" : <[b, i, h, d], bf16>
  %k = attn.input "k" : <[b, j, h, d], bf16>
  %v = attn.input "v" : <[b, j, h, r, x], bf16>
  %t = attn.input "t" : <[b, i, x], f32>
  %q_0 = attn.read %q [b, i, h, d] : (!attn.array<[b, i, h, d], bf16>) -> !attn.array<[b, i, h, d], f32>
  %k_1 = attn.read %k [b, j, h, d] : (!attn.array<[b, j, h, d], bf16>) -> !attn.array<[b, h, d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[b, i, h, d], f32>, %k_5 = %k_1 : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, i, h, d, j], f32> {
    %6 = arith.mulf %q_4, %k_5 : f32
    attn.yield %6 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[b, i, h, d, j], f32> -> <[b, i, h, j], f32>
  %2 = attn.map (%arg0 = %1 : !attn.array<[b, i, h, j], f32>) -> !attn.array<[b, i, h, j], f32> {
    %cst = arith.constant 5.65685415 : f32
    %6 = arith.divf %arg0, %cst : f32
    attn.yield %6 : f32
  }
  %p = attn.softmax over [j] %2 : <[b, i, h, j], f32> -> <[b, i, h, j], f32>
  %v_2 = attn.read %v [b, j, h, r, x] : (!attn.array<[b, j, h, r, x], bf16>) -> !attn.array<[b, h, j, r, x], f32>
  %3 = attn.map (%p_4 = %p : !attn.array<[b, i, h, j], f32>, %v_5 = %v_2 : !attn.array<[b, h, j, r, x], f32>) -> !attn.array<[b, i, h, j, r, x], f32> {
    %6 = arith.mulf %p_4, %v_5 : f32
    attn.yield %6 : f32
  }
  %4 = attn.reduce add over [j] %3 : <[b, i, h, j, r, x], f32> -> <[b, i, h, r, x], f32>
  %t_3 = attn.read %t [b, i, x] : (!attn.array<[b, i, x], f32>) -> !attn.array<[b, i, x], f32>
  %m = attn.map (%arg0 = %4 : !attn.array<[b, i, h, r, x], f32>, %t_4 = %t_3 : !attn.array<[b, i, x], f32>) -> !attn.array<[b, i, h, r, x], f32> {
    %6 = attn.sub %arg0, %t_4 : f32
    attn.yield %6 : f32
  }
  %5 = attn.map (%m_4 = %m : !attn.array<[b, i, h, r, x], f32>) -> !attn.array<[b, i, h, r, x], f32> {
    %6 = arith.mulf %m_4, %m_4 : f32
    attn.yield %6 : f32
  }
  %n = attn.reduce add over [x] %5 : <[b, i, h, r, x], f32> -> <[b, i, h, r], f32>
  attn.output "m" [b, i, h, r, x] %m as f32 : <[b, i, h, r, x], f32>
  attn.output "n" [b, i, h, r] %n as f32 : <[b, i, h, r], f32>
}
