// Sums of products of integers that f32 holds exactly are sums of f32; others stay. A condition for
// a few static indices is spelled out; one for many, of pairs of positions, is counted.
//   s = cast(sum(d, q * k), f32)
//   o[i] = max(j, where(any(t, list == j) and all(c, test > i), s, -inf))
//   n[j] = sum(d, r)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner [d, c]
// CHECK-NOT:   red.fold or
// CHECK:       arith.ori
// CHECK-COUNT-2: arith.sitofp
// CHECK:       red.fold add over [d]({{.*}}) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32>
// CHECK:       %[[COUNT:.*]] = red.fold add over [c]({{.*}}) : (!attn.array<[i, j, c], f32>) -> !attn.array<[i, j], f32>
// CHECK:       attn.map ({{.*}} = %[[COUNT]] : {{.*}}) -> !attn.array<[i, j], i1>
// CHECK:         arith.cmpf oeq
// CHECK:     red.nest grid [j] row [] stream [] inner [d]
// CHECK:       red.fold add over [d]({{.*}}) : (!attn.array<[d, j], i64>) -> !attn.array<[j], i64>

attn.program @counts dims [i, d = 16, j, t = 2, c = 40] {
  %q = attn.input "q" : <[i, d], i8>
  %k = attn.input "k" : <[j, d], i8>
  %list = attn.input "list" : <[i, t], i32>
  %test = attn.input "test" : <[j, c], i32>
  %r = attn.input "r" : <[j, d], i32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], i8>) -> !attn.array<[i, d], i64>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], i8>) -> !attn.array<[d, j], i64>
  %0 = attn.map (%q_6 = %q_0 : !attn.array<[i, d], i64>, %k_7 = %k_1 : !attn.array<[d, j], i64>) -> !attn.array<[i, d, j], i64> {
    %9 = arith.muli %q_6, %k_7 : i64
    attn.yield %9 : i64
  }
  %1 = attn.reduce add over [d] %0 : <[i, d, j], i64> -> <[i, j], i64>
  %s = attn.map (%arg0 = %1 : !attn.array<[i, j], i64>) -> !attn.array<[i, j], f32> {
    %9 = arith.sitofp %arg0 : i64 to f32
    attn.yield %9 : f32
  }
  %list_2 = attn.read %list [i, t] : (!attn.array<[i, t], i32>) -> !attn.array<[i, t], i64>
  %2 = attn.index j : <[j], i64>
  %3 = attn.map (%list_6 = %list_2 : !attn.array<[i, t], i64>, %arg1 = %2 : !attn.array<[j], i64>) -> !attn.array<[i, j, t], i1> {
    %9 = arith.cmpi eq, %list_6, %arg1 : i64
    attn.yield %9 : i1
  }
  %4 = attn.reduce or over [t] %3 : <[i, j, t], i1> -> <[i, j], i1>
  %test_3 = attn.read %test [j, c] : (!attn.array<[j, c], i32>) -> !attn.array<[j, c], i64>
  %5 = attn.index i : <[i], i64>
  %6 = attn.map (%test_6 = %test_3 : !attn.array<[j, c], i64>, %arg1 = %5 : !attn.array<[i], i64>) -> !attn.array<[i, j, c], i1> {
    %9 = arith.cmpi sgt, %test_6, %arg1 : i64
    attn.yield %9 : i1
  }
  %7 = attn.reduce and over [c] %6 : <[i, j, c], i1> -> <[i, j], i1>
  %8 = attn.map (%arg0 = %4 : !attn.array<[i, j], i1>, %arg1 = %7 : !attn.array<[i, j], i1>, %s_6 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %9 = arith.andi %arg0, %arg1 : i1
    %cst = arith.constant 0xFF800000 : f32
    %10 = arith.select %9, %s_6, %cst : f32
    attn.yield %10 : f32
  }
  %o = attn.reduce max over [j] %8 : <[i, j], f32> -> <[i], f32>
  %r_4 = attn.read %r [j, d] : (!attn.array<[j, d], i32>) -> !attn.array<[d, j], i64>
  %n = attn.reduce add over [d] %r_4 : <[d, j], i64> -> <[j], i64>
  attn.output "o" [i] %o as f32 : <[i], f32>
  %n_5 = attn.map (%n_6 = %n : !attn.array<[j], i64>) -> !attn.array<[j], i64> {
    %n_7 = arith.constant -2147483648 : i64
    %n_8 = arith.maxsi %n_6, %n_7 : i64
    %n_9 = arith.constant 2147483647 : i64
    %n_10 = arith.minsi %n_8, %n_9 : i64
    attn.yield %n_10 : i64
  }
  attn.output "n" [j] %n_5 as i32 : <[j], i64>
}
