// What is not sugar stays as it is.
//   a = max(j, s)
// RUN: %through-desugar %s | FileCheck %s

// CHECK:      %[[S:.*]] = attn.read
// CHECK-NEXT: %a = attn.reduce max over [j] %[[S]]
// CHECK-NEXT: attn.output "a" [i] %a

attn.program @max_of_none dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %a = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("a")
  attn.output "a" [i] %a as f32 : <[i], f32> loc("a")
}
