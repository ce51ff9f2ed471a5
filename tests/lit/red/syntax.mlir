// A fused nest with a domain and a schedule, printed and parsed again.
// RUN: attnc-opt %s | attnc-opt | FileCheck %s

attn.program @weights dims [b, i, d = 16, j, e = 16] {
  %q = attn.input "q" : <[b, i, d], bf16>
  %k = attn.input "k" : <[b, j, d], bf16>
  %v = attn.input "v" : <[b, j, e], bf16>
  %len = attn.input "len" : <[b], i32>
  // CHECK: %[[O:.*]]:2 = red.nest grid [b] row [i] stream [j] inner [d, e] schedule(#tile.portable<row_tile = 64, stream_tile = 64, warps = 4, stages = 2, rescale_threshold = 8, min_blocks = 1>) : !attn.array<[b, i, e], f32>, !attn.array<[b, i], f32> {
  %o:2 = red.nest grid [b] row [i] stream [j] inner [d, e] schedule(#tile.portable<row_tile = 64>) : !attn.array<[b, i, e], f32>, !attn.array<[b, i], f32> {
    %0 = attn.read %q [b, i, d] : (!attn.array<[b, i, d], bf16>) -> !attn.array<[b, i, d], f32>
    %1 = attn.read %k [b, j, d] : (!attn.array<[b, j, d], bf16>) -> !attn.array<[b, d, j], f32>
    // CHECK: %[[S:.*]] = red.fold add over [d](%{{.*}}, %{{.*}}) : (!attn.array<[b, i, d], f32>, !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, j], f32>
    %s = red.fold add over [d](%0, %1) : (!attn.array<[b, i, d], f32>, !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, j], f32>
    // CHECK: %[[M:.*]] = red.fold max over [j](%[[S]])
    %m = red.fold max over [j](%s) : (!attn.array<[b, i, j], f32>) -> !attn.array<[b, i], f32>
    // CHECK: red.fold add over [j]() exp(%[[S]] - %[[M]]) : (!attn.array<[b, i, j], f32>, !attn.array<[b, i], f32>) -> !attn.array<[b, i], f32>
    %z = red.fold add over [j]() exp(%s - %m) : (!attn.array<[b, i, j], f32>, !attn.array<[b, i], f32>) -> !attn.array<[b, i], f32>
    %2 = attn.read %v [b, j, e] : (!attn.array<[b, j, e], bf16>) -> !attn.array<[b, j, e], f32>
    // CHECK: red.fold add over [j](%{{.*}}) exp(%[[S]] - %[[M]])
    %c = red.fold add over [j](%2) exp(%s - %m) : (!attn.array<[b, j, e], f32>, !attn.array<[b, i, j], f32>, !attn.array<[b, i], f32>) -> !attn.array<[b, i, e], f32>
    red.yield %c, %z : !attn.array<[b, i, e], f32>, !attn.array<[b, i], f32>
  // CHECK: } domain {
  } domain {
  // CHECK-NEXT: ^bb0(%{{.*}}: i64, %{{.*}}: i64, %[[I1:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64):
  ^bb0(%b: i64, %i0: i64, %i1: i64, %j0: i64, %j1: i64):
    %zero = arith.constant 0 : i64
    // CHECK: %[[N:.*]] = attn.size j : <[], i64>
    // CHECK: red.scalar %[[N]] : <[], i64> -> i64
    %size = attn.size j : <[], i64>
    %n = red.scalar %size : <[], i64> -> i64
    %hi = arith.minsi %i1, %n : i64
    %full = arith.cmpi sle, %j1, %i0 : i64
    // CHECK: %[[LENGTH:.*]] = red.extreme max of %{{.*}} from[%{{.*}}] to[%{{.*}}] : <[b], i32>
    %length = red.extreme max of %len from [%b] to [%b] : <[b], i32>
    // CHECK: %[[LIVE:.*]] = arith.cmpi slt, %{{.*}}, %[[LENGTH]]
    %live = arith.cmpi slt, %j0, %length : i64
    // CHECK: red.bounds lo(%{{.*}}) hi(%{{.*}}) full %{{.*}} live %[[LIVE]]
    red.bounds lo(%zero) hi(%hi) full %full live %live
  }
  // CHECK: attn.output "o" [b, i, e] %[[O]]#0 as bf16
  attn.output "o" [b, i, e] %o#0 as bf16 : <[b, i, e], f32>
  attn.output "z" [b, i] %o#1 as f32 : <[b, i], f32>
}
