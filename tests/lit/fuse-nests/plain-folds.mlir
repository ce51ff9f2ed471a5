// Folds that do not depend on each other share a pass, whatever their kinds.
//   a = sum(j, s)
//   b = max(j, s)
//   c = min(j, s)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       red.fold add over [j](%[[S]])
// CHECK:       red.fold max over [j](%[[S]])
// CHECK:       red.fold min over [j](%[[S]])
// CHECK-NOT:   red.nest

attn.program @plain_folds dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %a = attn.reduce add over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("a")
  %b = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("b")
  %c = attn.reduce min over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("c")
  attn.output "a" [i] %a as f32 : <[i], f32> loc("a")
  attn.output "b" [i] %b as f32 : <[i], f32> loc("b")
  attn.output "c" [i] %c as f32 : <[i], f32> loc("c")
}
