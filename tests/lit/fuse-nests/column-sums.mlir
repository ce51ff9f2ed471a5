// Sums over the queries of weights that are normalised over the keys need a second pass, which
// reads what the first one stores for each row and computes the weights again.
//   p = softmax(j, s)
//   c[j] = sum(i, p)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     %[[ROWS:.*]]:2 = red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[M:.*]] = red.fold max over [j]
// CHECK:       red.fold add over [j]() exp({{.*}} - %[[M]])
// CHECK:       %[[INV:.*]] = attn.map
// CHECK:       red.yield %[[M]], %[[INV]]
// CHECK:     red.nest grid [] row [j] stream [i] inner []
// CHECK-DAG:   attn.read %[[ROWS]]#0 [i]
// CHECK-DAG:   attn.read %[[ROWS]]#1 [i]
// CHECK:       math.exp
// CHECK:       red.fold add over [i]
// CHECK-NOT:   red.nest

attn.program @column_sums dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %c = attn.reduce add over [i] %p : <[i, j], f32> -> <[j], f32> loc("c")
  attn.output "c" [j] %c as f32 : <[j], f32> loc("c")
}
