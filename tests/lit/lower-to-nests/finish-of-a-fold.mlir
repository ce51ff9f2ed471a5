// What is computed from a reduction's result element by element joins its nest.
//   a[i] = sqrt(sum(j, s))
// RUN: %through-lower-to-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[Z:.*]] = red.fold add over [j]
// CHECK:       %[[R:.*]] = attn.map ({{.*}} = %[[Z]] :
// CHECK:         math.sqrt
// CHECK:       red.yield %[[R]]
// CHECK-NOT: red.nest

attn.program @finish_of_a_fold dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %0 = attn.reduce add over [j] %s_0 : <[i, j], f32> -> <[i], f32>
  %a = attn.map (%arg0 = %0 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %1 = math.sqrt %arg0 : f32
    attn.yield %1 : f32
  } loc("a")
  attn.output "a" [i] %a as f32 : <[i], f32> loc("a")
}
