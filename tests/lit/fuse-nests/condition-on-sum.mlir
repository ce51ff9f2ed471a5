// A condition on a result of the same pass cannot be decided while the stream goes by.
//   z = sum(j, s)
//   x = max(j, where(z > 0, s, -s))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       red.fold add over [j]
// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       red.fold max over [j]
// CHECK:     red.derivation = [{dims = "j", expression = "where(z > 0, s, -s)", fold = "x", operation = "where"
// CHECK-SAME:  result = "z", rule = "cut"}
// CHECK-NOT:   red.nest

attn.program @condition_on_sum dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %z = attn.reduce add over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("z")
  %0 = attn.map (%arg0 = %z : !attn.array<[i], f32>, %arg1 = %s_0 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %1 = arith.cmpf ogt, %arg0, %cst : f32
    %2 = arith.negf %arg1 : f32
    %3 = arith.select %1, %arg1, %2 : f32
    attn.yield %3 : f32
  }
  %x = attn.reduce max over [j] %0 : <[i, j], f32> -> <[i], f32> loc("x")
  attn.output "x" [i] %x as f32 : <[i], f32> loc("x")
}
