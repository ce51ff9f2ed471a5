// Blocks of 8: the condition is solved for j, so the loop begins and ends with the blocks of the rows
// and no tile in between is dead.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(i // 8 == j // 8, s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     ^bb0(%[[I0:.*]]: i64, %[[I1:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64):
// CHECK:       %[[EIGHT:.*]] = arith.constant 8
// CHECK:       %[[FIRST:.*]] = arith.floordivsi %[[I0]], %[[EIGHT]]
// CHECK:       %[[LAST:.*]] = arith.floordivsi %[[I1]], %[[EIGHT]]
// CHECK:       %[[BEGIN:.*]] = arith.muli %[[LAST]], %[[EIGHT]]
// CHECK:       %[[SEVEN:.*]] = arith.constant 7
// CHECK:       %[[END:.*]] = arith.addi %[[BEGIN]], %[[SEVEN]]
// CHECK:       %[[ONE:.*]] = arith.constant 1
// CHECK:       %[[PAST:.*]] = arith.addi %[[END]], %[[ONE]]
// CHECK:       %[[HI:.*]] = arith.minsi %[[PAST]], %{{.*}}
// CHECK:       red.bounds lo({{.*}}) hi(%[[HI]]) full %{{[a-z0-9_]+}}
// CHECK-NOT:   live

attn.program @blockdiagonal dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_2 = %q_0 : !attn.array<[i, d], f32>, %k_3 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %4 = arith.mulf %q_2, %k_3 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %1 = attn.index i : <[i], i64>
  %2 = attn.index j : <[j], i64>
  %3 = attn.map (%arg0 = %1 : !attn.array<[i], i64>, %arg1 = %2 : !attn.array<[j], i64>, %s_2 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %c8_i64 = arith.constant 8 : i64
    %4 = arith.floordivsi %arg0, %c8_i64 : i64
    %c8_i64_3 = arith.constant 8 : i64
    %5 = arith.floordivsi %arg1, %c8_i64_3 : i64
    %6 = arith.cmpi eq, %4, %5 : i64
    %cst = arith.constant 0xFF800000 : f32
    %7 = arith.select %6, %s_2, %cst : f32
    attn.yield %7 : f32
  }
  %lse = attn.reduce logsumexp over [j] %3 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32>
}
