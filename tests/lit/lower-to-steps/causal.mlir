// What is done with a row tile, in order of meaning: no pipe, no barrier, no loop that runs ahead. The
// schedule says who and when by attributes: the values of a tile are added while the scores of the
// next one are computed, and the groups start both in turn.
//   p = softmax(j, where(j <= i, scale * sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=lower-nests target=sm_90a override={"groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": true, "persistent": false}' | FileCheck %s

// CHECK:      tile.row_tiles %row_tiles attributes {consumer_registers = 240 : i64, groups = 2 : i64, ping_pong, producer_registers = 24 : i64} {
// CHECK-NEXT: ^bb0(%work: i32, %turn: i32):
// CHECK:        %q = tile.fetch %q_map({{.*}}) {late, stages = 1 : i64}
// CHECK-NOT:    tile.await
// CHECK:        tile.stream %{{.*}} to %{{.*}} own %own_first to %own_end {
// CHECK-NEXT:   ^bb0(%t: i32, %{{.*}}: i32, %is_first: i1, %is_last: i1):
// CHECK:          %k = tile.fetch %k_map(%j0, {{.*}}) {stages = 2 : i64}
// CHECK:          %v = tile.fetch %v_map(%j0, {{.*}}) {order = 3 : i64, stage = 1 : i64, stages = 2 : i64}
// CHECK:          tile.step "scores" order 1 turn {
// CHECK:            tile.mma_start %scores, %{{.*}}, %k transposed fresh
// CHECK:          %[[MOVED:.*]] = tile.step "fold" order 3 -> i1 {
// CHECK:            scf.if %is_first
// CHECK:          tile.step "convert" order 4 {
// CHECK-NEXT:       tile.convert %scores to %weights
// CHECK:          tile.step "rescale" stage 1 {
// CHECK-NEXT:       scf.if %[[MOVED]] {
// CHECK:          tile.step "values" stage 1 order 2 turn {
// CHECK-NEXT:       tile.mma_start %{{.*}}, %weights, %v
// CHECK:        tile.store_fragment
// CHECK-NOT:  tile.role

attn.program @causal dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %6 = arith.mulf %q_3, %k_4 : f32
    attn.yield %6 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %s = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.mulf %scale_3, %arg1 : f32
    attn.yield %6 : f32
  } loc("s")
  %2 = attn.index j : <[j], i64>
  %3 = attn.index i : <[i], i64>
  %4 = attn.map (%arg0 = %2 : !attn.array<[j], i64>, %arg1 = %3 : !attn.array<[i], i64>, %s_3 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0xFF800000 : f32
    %7 = arith.select %6, %s_3, %cst : f32
    attn.yield %7 : f32
  }
  %p = attn.softmax over [j] %4 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %5 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %6 = arith.mulf %p_3, %v_4 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %5 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
