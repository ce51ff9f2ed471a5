// Two blocks of a cluster share rows: each sums scores over its part of the depth, the columns from
// rank * 112 on, sends them, and adds the other's while products with weights run.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=lower-nests target=sm_90a override={"seesaw": true, "cluster": true, "groups": 2, "stream_tile": 64, "stages": 3, "head_dim_tile": 64, "depth": 64, "ping_pong": false, "persistent": false, "producer_registers": 40, "consumer_registers": 232}' | FileCheck %s
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=assign-roles target=sm_90a override={"seesaw": true, "cluster": true, "groups": 2, "stream_tile": 64, "stages": 3, "head_dim_tile": 64, "depth": 64, "ping_pong": false, "persistent": false, "producer_registers": 40, "consumer_registers": 232}' | FileCheck %s --check-prefix=ROLES
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=place target=sm_90a override={"seesaw": true, "cluster": true, "groups": 2, "stream_tile": 64, "stages": 3, "head_dim_tile": 64, "depth": 64, "ping_pong": false, "persistent": false, "producer_registers": 40, "consumer_registers": 232}' | FileCheck %s --check-prefix=PLACES

// CHECK:      attributes {cluster = 2 : i64
// CHECK:        %q = tile.fetch %q_map(%depth_begin, %i0, {{.*}} -> <64, 112, bf16, panels 64>
// CHECK:          tile.fetch %k_map(%depth_begin{{.*}}parts = 2 : i64
// CHECK:          tile.step "scores" {
// CHECK:          tile.step "scores" order 1 pending 1 {
// CHECK:          tile.step "send" order 4 {
// CHECK-NEXT:       tile.send_partial %scores
// CHECK:          tile.step "add" order {{[0-9]+}} {
// CHECK-NEXT:       tile.add_partial %scores
// CHECK:          tile.step "fold" order
// CHECK:          tile.step "peer's values" stage 1 order 3 pending 1 {

// A group sends when the other block has taken what it sent before; its warps say how many bytes they
// wait for before they may arrive. Blocks meet before the first sends, and when all is received.
// ROLES:      %received = tile.shared at 0 : !tile.shared<128, 64, f32>
// ROLES:      tile.single {
// ROLES-NEXT:   tile.mbarrier_init %arrived arrivals 4
// ROLES-NEXT:   tile.mbarrier_init %taken arrivals 4
// ROLES:      tile.start_pipes
// ROLES-NEXT: tile.cluster_sync
// ROLES:      tile.role "compute"
// ROLES:        tile.step "send"
// ROLES:          tile.mbarrier_wait %taken[%group] parity
// ROLES-NEXT:     tile.single each_warp {
// ROLES-NEXT:       tile.mbarrier_arrive %arrived[%group] bytes 4096
// ROLES:          tile.send_fragment %scores to %received at %other_block, %arrived[%group]
// ROLES:        tile.step "add"
// ROLES:          tile.mbarrier_wait %arrived[%group] parity
// ROLES-NEXT:     tile.receive_fragment %scores from %received
// ROLES:          tile.single each_warp {
// ROLES-NEXT:       tile.mbarrier_arrive %taken[%group] at %other_block
// ROLES:      }
// ROLES:      tile.cluster_sync

// The number of a row tile is the cluster's.
// PLACES:     %received = tile.shared at [[#AT:]] : !tile.shared<128, 64, f32>
// PLACES:     tile.shared at [[#AT+32768]] : !tile.mbarriers<2>
// PLACES:     tile.shared at [[#AT+32784]] : !tile.mbarriers<2>
// PLACES:     %cluster = arith.divui %block, %{{.*}}
// PLACES:     tile.cluster_rank

attn.program @cluster dims [h, i, d = 200, j, e = 256] {
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
