// Folds without an exponent leave out what is not of the part by their identities. The dim of the
// parts gets a name that the program has not.
// RUN: %through-split %s | FileCheck %s

// CHECK:     attn.program @plain dims [j_part_2, i, j, j_part]
// CHECK:       arith.constant 2 : i64
// CHECK:     attn.extent j_part_2 
// CHECK:     red.nest grid [{{.*}}j_part_2{{.*}}] row [{{.*}}] stream [j]
// CHECK:       arith.constant 0.000000e+00 : f32
// CHECK:       red.fold add over [j](
// CHECK:       arith.constant 0x7F800000 : f32
// CHECK:       red.fold min over [j](
// CHECK:       arith.constant 1.000000e+00 : f32
// CHECK:       red.fold mul over [j](
// CHECK:     red.nest grid [i{{.*}}] row [{{.*}}] stream [j_part_2]
// CHECK:       red.fold add over [j_part_2](
// CHECK:       red.fold min over [j_part_2](
// CHECK:       red.fold mul over [j_part_2](

attn.program @plain dims [i, j, j_part] attributes {red.splits = 2 : i64} {
  %s = attn.input "s" : <[i, j, j_part], f32> loc("s")
  %s_0 = attn.read %s [i, j, j_part] : (!attn.array<[i, j, j_part], f32>) -> !attn.array<[i, j, j_part], f32> loc("s")
  %a = attn.reduce add over [j] %s_0 : <[i, j, j_part], f32> -> <[i, j_part], f32> loc("a")
  %b = attn.reduce min over [j] %s_0 : <[i, j, j_part], f32> -> <[i, j_part], f32> loc("b")
  %c = attn.reduce mul over [j] %s_0 : <[i, j, j_part], f32> -> <[i, j_part], f32> loc("c")
  attn.output "a" [i, j_part] %a as f32 : <[i, j_part], f32> loc("a")
  attn.output "b" [i, j_part] %b as f32 : <[i, j_part], f32> loc("b")
  attn.output "c" [i, j_part] %c as f32 : <[i, j_part], f32> loc("c")
}
