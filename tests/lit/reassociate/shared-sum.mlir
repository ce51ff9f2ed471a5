// Sums that several folds share vanish if all of them cost less in another order: numerator and
// denominator of linear attention. Where another use keeps the sum, what has it in a tile anyway
// adds it up there.
//   o[i,e] = sum(j, a * v[j,e]) / sum(j, a)   with a = sum(d, q[i,d] * k[j,d])
// RUN: %through-reassociate %s | FileCheck %s

// CHECK-LABEL: attn.program @both_vanish
// CHECK:         red.fold add over [j]({{.*}} -> !attn.array<[d, e], f32>
// CHECK:         red.fold add over [d]({{.*}} -> !attn.array<[i, e], f32>
// CHECK:         red.fold add over [j]({{.*}} -> !attn.array<[d], f32>
// CHECK:         red.fold add over [d]({{.*}} -> !attn.array<[i], f32>
// CHECK-NOT:     !attn.array<[i, j]
attn.program @both_vanish dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], f32>
  %k = attn.input "k" : <[j, d], f32>
  %v = attn.input "v" : <[j, e], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[i, d], f32>, %k_4 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %q_3, %k_4 : f32
    attn.yield %4 : f32
  }
  %a = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32>
  %v_2 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %1 = attn.map (%a_3 = %a : !attn.array<[i, j], f32>, %v_4 = %v_2 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %4 = arith.mulf %a_3, %v_4 : f32
    attn.yield %4 : f32
  }
  %2 = attn.reduce add over [j] %1 : <[i, j, e], f32> -> <[i, e], f32>
  %3 = attn.reduce add over [j] %a : <[i, j], f32> -> <[i], f32>
  %o = attn.map (%arg0 = %2 : !attn.array<[i, e], f32>, %arg1 = %3 : !attn.array<[i], f32>) -> !attn.array<[i, e], f32> {
    %4 = arith.divf %arg0, %arg1 : f32
    attn.yield %4 : f32
  }
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}

//   ... / sum(j, abs(a))
// CHECK-LABEL: attn.program @one_stays dims [i, d = 16, j, e = 24] {
// CHECK:         red.fold add over [d]({{.*}} -> !attn.array<[i, j], f32>
// CHECK:         red.fold add over [j]({{.*}} -> !attn.array<[i, e], f32>
// CHECK:         red.fold add over [j]({{.*}} -> !attn.array<[i], f32>
// CHECK-NOT:     red.fold
attn.program @one_stays dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], f32>
  %k = attn.input "k" : <[j, d], f32>
  %v = attn.input "v" : <[j, e], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[i, d], f32>, %k_4 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %5 = arith.mulf %q_3, %k_4 : f32
    attn.yield %5 : f32
  }
  %a = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32>
  %v_2 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %1 = attn.map (%a_3 = %a : !attn.array<[i, j], f32>, %v_4 = %v_2 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %5 = arith.mulf %a_3, %v_4 : f32
    attn.yield %5 : f32
  }
  %2 = attn.reduce add over [j] %1 : <[i, j, e], f32> -> <[i, e], f32>
  %3 = attn.map (%a_3 = %a : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %5 = math.absf %a_3 : f32
    attn.yield %5 : f32
  }
  %4 = attn.reduce add over [j] %3 : <[i, j], f32> -> <[i], f32>
  %o = attn.map (%arg0 = %2 : !attn.array<[i, e], f32>, %arg1 = %4 : !attn.array<[i], f32>) -> !attn.array<[i, e], f32> {
    %5 = arith.divf %arg0, %arg1 : f32
    attn.yield %5 : f32
  }
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}
