// What stays as it is written: a mask between the sums, and the order that costs less already.
// RUN: %through-reassociate %s | FileCheck %s

// CHECK-LABEL: attn.program @masked dims [i, d = 16, j, e = 24] {
// CHECK:         red.fold add over [d]({{.*}} -> !attn.array<[i, j], f32>
// CHECK:         red.fold add over [j]({{.*}} -> !attn.array<[i, e], f32>
// CHECK-NOT:     red.fold
attn.program @masked dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %2 = attn.map (%x = %0 : !attn.array<[i, d], f32>, %y = %1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %8 = arith.mulf %x, %y : f32
    attn.yield %8 : f32
  }
  %s = attn.reduce add over [d] %2 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %i = attn.index i : <[i], i64>
  %j = attn.index j : <[j], i64>
  %m = attn.map (%a = %i : !attn.array<[i], i64>, %b = %j : !attn.array<[j], i64>, %x = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %8 = arith.cmpi sle, %b, %a : i64
    %9 = arith.constant 0.0 : f32
    %10 = arith.select %8, %x, %9 : f32
    attn.yield %10 : f32
  } loc("m")
  %3 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %4 = attn.map (%x = %m : !attn.array<[i, j], f32>, %y = %3 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %8 = arith.mulf %x, %y : f32
    attn.yield %8 : f32
  }
  %o = attn.reduce add over [j] %4 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}

// CHECK-LABEL: attn.program @right_to_left dims [i, m = 64, j, e = 24] {
// CHECK:         red.fold add over [j]({{.*}} -> !attn.array<[m, e], f32>
// CHECK:         red.fold add over [m]({{.*}} -> !attn.array<[i, e], f32>
// CHECK-NOT:     red.fold
attn.program @right_to_left dims [i, m = 64, j, e = 24] {
  %x = attn.input "x" : <[i, m], f32> loc("x")
  %y = attn.input "y" : <[m, j], f32> loc("y")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %0 = attn.read %y [m, j] : (!attn.array<[m, j], f32>) -> !attn.array<[m, j], f32> loc("y")
  %1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %2 = attn.map (%a = %0 : !attn.array<[m, j], f32>, %b = %1 : !attn.array<[j, e], f32>) -> !attn.array<[m, j, e], f32> {
    %8 = arith.mulf %a, %b : f32
    attn.yield %8 : f32
  }
  %yv = attn.reduce add over [j] %2 : <[m, j, e], f32> -> <[m, e], f32> loc("yv")
  %3 = attn.read %x [i, m] : (!attn.array<[i, m], f32>) -> !attn.array<[i, m], f32> loc("x")
  %4 = attn.map (%a = %3 : !attn.array<[i, m], f32>, %b = %yv : !attn.array<[m, e], f32>) -> !attn.array<[i, m, e], f32> {
    %8 = arith.mulf %a, %b : f32
    attn.yield %8 : f32
  }
  %o = attn.reduce add over [m] %4 : <[i, m, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
