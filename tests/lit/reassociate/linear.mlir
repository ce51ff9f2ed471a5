// q (k v) costs (i + j) d e, (q k) v costs i j (d + e): the first has the lower degree in the
// extents that are known only at run time.
//   o[i,e] = sum(j, sum(d, q[i,d] * k[j,d]) * v[j,e])
// RUN: %through-reassociate %s | FileCheck %s

// CHECK:     attn.program @linear {{.*}}red.derivation = [{{.*}}fold = "o", rule = "reassociated"
// CHECK:     red.nest
// CHECK:       %[[K:.*]] = attn.read %k [j, d]
// CHECK:       %[[V:.*]] = attn.read %v [j, e]
// CHECK:       red.fold add over [j](%[[K]], %[[V]]) : {{.*}} -> !attn.array<[d, e], f32>
// CHECK:     red.nest
// CHECK:       red.fold add over [d]({{.*}} -> !attn.array<[i, e], f32>
// CHECK-NOT: red.fold

attn.program @linear dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> loc("q")
  %1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32> loc("k")
  %2 = attn.map (%x = %0 : !attn.array<[i, d], f32>, %y = %1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %5 = arith.mulf %x, %y : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %2 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %3 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %4 = attn.map (%x = %s : !attn.array<[i, j], f32>, %y = %3 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %5 = arith.mulf %x, %y : f32
    attn.yield %5 : f32
  }
  %o = attn.reduce add over [j] %4 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
