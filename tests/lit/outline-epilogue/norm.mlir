// Folds after a stream, for targets that cannot fold there: one nest for the fold, one for what is
// computed from it; the first one stores y, not its square, which is recomputed.
//   o[i,e] = y / sqrt(sum(e, y * y))   with y[i,e] = sum(j, softmax(j, s) * v[j,e])
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s \
// RUN:   --pass-pipeline='builtin.module(attn.program(desugar,lower-to-nests,fuse-nests,outline-epilogue))' \
// RUN:   | FileCheck %s

// CHECK:     %[[Y:.*]] = red.nest {{.*}} stream [j] {{.*}} : !attn.array<[i, e], f32> {
// CHECK-NOT:   over [e]
// CHECK:       red.yield
// CHECK:     %[[SUM:.*]] = red.nest grid [i] row [] stream [e] inner []
// CHECK:       %[[READ:.*]] = attn.read %[[Y]] [i, e]
// CHECK:       red.fold add over [e](%[[READ]], %[[READ]])
// CHECK:     %[[O:.*]] = red.nest grid [i, e] row [] stream [] inner []
// CHECK-DAG:   attn.read %[[Y]] [i, e]
// CHECK-DAG:   attn.read %[[SUM]] [i]
// CHECK-NOT: red.nest
// CHECK:     attn.output "o" [i, e] %[[O]]
attn.program @norm dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], f32>
  %k = attn.input "k" : <[j, d], f32>
  %v = attn.input "v" : <[j, e], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[i, d], f32>, %k_4 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %6 = arith.mulf %q_3, %k_4 : f32
    attn.yield %6 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32>
  %2 = attn.softmax over [j] %1 : <[i, j], f32> -> <[i, j], f32>
  %v_2 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %3 = attn.map (%arg0 = %2 : !attn.array<[i, j], f32>, %v_3 = %v_2 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %6 = arith.mulf %arg0, %v_3 : f32
    attn.yield %6 : f32
  }
  %y = attn.reduce add over [j] %3 : <[i, j, e], f32> -> <[i, e], f32>
  %4 = attn.map (%y_3 = %y : !attn.array<[i, e], f32>) -> !attn.array<[i, e], f32> {
    %6 = arith.mulf %y_3, %y_3 : f32
    attn.yield %6 : f32
  }
  %5 = attn.reduce add over [e] %4 : <[i, e], f32> -> <[i], f32>
  %o = attn.map (%y_3 = %y : !attn.array<[i, e], f32>, %arg1 = %5 : !attn.array<[i], f32>) -> !attn.array<[i, e], f32> {
    %6 = math.sqrt %arg1 : f32
    %7 = arith.divf %y_3, %6 : f32
    attn.yield %7 : f32
  }
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}
