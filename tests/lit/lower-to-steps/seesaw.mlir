// Two groups that share 64 rows. Each has 96 columns of the result and every other tile of the stream;
// what arrives is by_group, in one ring. The weights of a tile are handed over, and summed a tile later
// against the reference that both agree on: first the peer's, then the own ones, behind the scores of
// the next tile.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=lower-nests target=sm_90a override={"seesaw": true, "groups": 2, "stream_tile": 64, "stages": 3, "head_dim_tile": 96, "depth": 128, "ping_pong": false, "persistent": false, "producer_registers": 24, "consumer_registers": 240}' | FileCheck %s
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=assign-roles target=sm_90a override={"seesaw": true, "groups": 2, "stream_tile": 64, "stages": 3, "head_dim_tile": 96, "depth": 128, "ping_pong": false, "persistent": false, "producer_registers": 24, "consumer_registers": 240}' | FileCheck %s --check-prefix=ROLES
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=place target=sm_90a override={"seesaw": true, "groups": 2, "stream_tile": 64, "stages": 3, "head_dim_tile": 96, "depth": 128, "ping_pong": false, "persistent": false, "producer_registers": 24, "consumer_registers": 240}' | FileCheck %s --check-prefix=PLACES

// CHECK:      tile.row_tiles %row_tiles attributes {consumer_registers = 240 : i64, groups = 2 : i64, producer_registers = 24 : i64} {
// CHECK:        tile.stream
// CHECK:          %exchanged:2, %[[THEIRS:.*]]:2 = tile.exchange
// CHECK:          %k = tile.fetch %k_map({{.*}}) {by_group, in_ring, parts = 2 : i64, stages = 3 : i64}
// CHECK:          %v = tile.fetch %v_map(%{{.*}}, %peer_j0, {{.*}}) {along = 1 : i64, by_group, in_ring, order = 3 : i64, stage = 1 : i64
// CHECK:          %[[OWN:v_[0-9]+]] = tile.fetch %v_map(%{{.*}}, %j0, {{.*}}) {along = 1 : i64, by_group, in_ring, order = 4 : i64, stage = 1 : i64
// CHECK:          tile.step "scores" {
// CHECK:          tile.step "scores" order 1 pending 1 {
// CHECK:          tile.step "fold" order 4
// CHECK:          tile.step "convert" order 5 {
// CHECK-NEXT:       tile.convert %scores to %next_weights
// CHECK:          tile.step "hand over" order 7 pending 1 {
// CHECK:            tile.store_operand %next_weights to
// CHECK:            tile.write_vector %p_max to %exchanged#1
// CHECK:          tile.step "agree" stage 1 order 2 {
// CHECK:            tile.read_vector %p_max_peer from %[[THEIRS]]#1
// CHECK:            tile.barrier_sync %own_barrier threads 128 any
// CHECK:            scf.if %moved {
// CHECK:              tile.scale_rows
// CHECK:              tile.scale_packed %weights by %by_own
// CHECK:              tile.scale_packed %{{.*}} by %by_peer
// CHECK:          tile.step "peer's values" stage 1 order 3 pending 1 {
// CHECK:            tile.mma_start %{{.*}}, %[[THEIRS]]#0, %v
// CHECK:          tile.step "own values" stage 1 order 6 pending 1 {
// CHECK:            tile.mma_start %{{.*}}, %weights, %[[OWN]]
// CHECK:          tile.step "take over" order 8 {
// CHECK-NEXT:       tile.move %next_weights to %weights
// Each has summed the weights of its own tiles.
// CHECK:        tile.write_vector %p_sum to %own_share
// CHECK:        tile.barrier_sync %{{.*}} threads 256
// CHECK:        tile.read_vector %other from %peer_share

// The slots of a group's ring are those of its keys; the barriers of the weights that warps write guard
// the reference beside them. A warp copies for each group, the first one also what both use.
// ROLES:      %q_pipe = tile.pipe {{.*}} users 8 :
// ROLES:      %k_pipe0 = tile.pipe {{.*}} users 4 :
// ROLES:      %k_pipe1 = tile.pipe {{.*}} users 4 :
// ROLES:      %v_pipe0 = tile.pipe {{.*}} users 4 in %k_pipe0 : {{.*}} : <3, <64, 96, bf16, panels 64>>
// ROLES:      %v_pipe1 = tile.pipe {{.*}} users 4 in %k_pipe1 :
// ROLES:      %exchanged0 = tile.pipe {{.*}} users 4 writers 4
// ROLES:      tile.start_pipes %q_pipe, %k_pipe0, %k_pipe1, %exchanged0, %exchanged1 :
// ROLES:      tile.role "load"
// ROLES-NEXT:   %warp = tile.warp uniform
// ROLES:        tile.single each_warp {
// ROLES:          scf.if %{{.*}} {
// ROLES-NEXT:       tile.acquire %q_pipe
// ROLES:          tile.step "k" {
// ROLES:            %in_ring = arith.addi %ring_before
// ROLES:            tile.fill %k_pipe
// ROLES:          tile.step "v" stage 1 order 3 {
// ROLES:          tile.step "v" stage 1 order 4 {
// ROLES:      tile.role "compute"
// ROLES-NOT:    tile.exchange
// ROLES:        tile.step "hand over"
// ROLES-NEXT:     tile.acquire %exchanged
// ROLES:          tile.store_operand
// ROLES:          tile.publish
// ROLES-NEXT:     tile.complete %exchanged
// ROLES:        tile.step "agree"
// ROLES-NEXT:     tile.await %exchanged
// ROLES:        tile.step "own values"
// ROLES-NOT:      tile.release %exchanged
// ROLES:        tile.step "take over"

// PLACES:     %k_pipe0 = tile.pipe at [[RING:[0-9]+]] barriers [[BARRIERS:[0-9]+]] users 4
// PLACES:     %v_pipe0 = tile.pipe at [[RING]] barriers [[BARRIERS]] users 4 :
// A group lets go of the peer's weights before it hands over its own.
// PLACES:     scf.for %t =
// PLACES:       %ring_before{{.*}} = arith.muli %{{.*}}, %{{.*}}
// PLACES:       tile.release %exchanged
// PLACES:       tile.acquire %exchanged
// PLACES:       tile.move %next_weights to %weights

attn.program @seesaw dims [h, i, d = 192, j, e = 192] {
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
