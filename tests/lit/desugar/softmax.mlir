// Softmax is a maximum, weights, their sum, and a product; an empty row (sum 0) has weights of 0.
//   a[i,j] = softmax(j, s)
// RUN: %through-desugar %s | FileCheck %s

// CHECK-NOT: attn.softmax
// CHECK:     %[[S:.*]] = attn.read
// CHECK:     %a_max = attn.reduce max over [j] %[[S]]
// CHECK:     %a_exp = attn.map (%[[X:.*]] = %[[S]] : {{.*}}, %[[MX:.*]] = %a_max :
// CHECK:       %[[SUB:.*]] = attn.sub %[[X]], %[[MX]]
// CHECK:       math.exp %[[SUB]]
// CHECK:     %a_sum = attn.reduce add over [j] %a_exp
// CHECK:     %a_inv = attn.map (%[[Z:.*]] = %a_sum :
// CHECK:       %[[ZERO:.*]] = arith.constant 0.0
// CHECK:       %[[ONE:.*]] = arith.constant 1.0
// CHECK:       %[[EMPTY:.*]] = arith.cmpf oeq, %[[Z]], %[[ZERO]]
// CHECK:       %[[INV:.*]] = arith.divf %[[ONE]], %[[Z]]
// CHECK:       arith.select %[[EMPTY]], %[[ZERO]], %[[INV]]
// CHECK:     %a = attn.map ({{.*}} = %a_exp : {{.*}} = %a_inv :
// CHECK:       arith.mulf
// CHECK:     attn.output "a" [i, j] %a

attn.program @softmax dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %a = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("a")
  attn.output "a" [i, j] %a as f32 : <[i, j], f32> loc("a")
}
