// A term that does not vary along the stream counts for each key: it is multiplied by their number.
//   p = softmax(j, s)
//   o[i] = sum(j, p - 1)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[N:.*]] = attn.size j
// CHECK:       arith.sitofp
// CHECK:     {B = "-1", dims = "j", fold = "o", rule = "counted"}
// CHECK-NOT:   red.nest

attn.program @constant_term dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %cst = arith.constant 1.000000e+00 : f32
    %1 = attn.sub %arg0, %cst : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
