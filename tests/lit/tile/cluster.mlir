// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// Scores of 64 queries and 64 keys over 256 columns in a cluster of two blocks, by hand: each block sums
// over its half of the columns and sends its sums to the other one, thread to thread; both then hold the
// same scores less the rows' maxima, and the first one writes them by a bulk copy.

!half = !tile.shared<64, 128, bf16, panels 64>
!pipe = !tile.pipe<1, <64, 128, bf16, panels 64>>
!map = !tile.tensor_map<[64, 64, 1, 1], bf16>
!scores = !tile.fragment<16, 64>
!out_tile = !tile.shared<64, 64, bf16, panels 64>
!strip = !tile.shared<16, 64, bf16, panels 64>
!small = !tile.shared<1, 64, f32>
!sums = !tile.shared<64, 64, f32>

// CHECK: attributes {cluster = 2 : i64}
tile.kernel @cluster_scores("q_map" = %q_map: !map, "k_map" = %k_map: !map, "s_map" = %s_map: !map, "size_h" = %size_h: i32) grid [["mul", 2, ["mul", ["size", "b"], ["size", "h"]]]] threads 128 smem 58128 attributes {cluster = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c16 = arith.constant 16 : i32
  %c128 = arith.constant 128 : i32
  // CHECK: tile.cluster_rank
  %rank = tile.cluster_rank loc("rank")
  %peer = arith.subi %c1, %rank : i32 loc("peer")
  %block = tile.block
  %cell = arith.divsi %block, %c2 : i32 loc("cell")
  %h = arith.remsi %cell, %size_h : i32 loc("h")
  %b = arith.divsi %cell, %size_h : i32 loc("b")
  %column = arith.muli %rank, %c128 : i32
  %q_pipe = tile.pipe at 0 barriers 58080 users 4 : !pipe loc("q_pipe")
  %k_pipe = tile.pipe at 16384 barriers 58096 users 4 : !pipe loc("k_pipe")
  %received = tile.shared at 58112 : !tile.mbarriers<2> loc("received")
  %sums = tile.shared at 32768 : !sums loc("sums")
  %out = tile.shared at 49152 : !out_tile loc("out")
  %mine = tile.shared at 57344 : !small loc("mine")
  %theirs = tile.shared at 57600 : !small loc("theirs")
  tile.single {
    // CHECK: tile.mbarrier_init
    tile.mbarrier_init %received arrivals 1 : !tile.mbarriers<2>
  }
  tile.start_pipes %q_pipe, %k_pipe : !pipe, !pipe
  tile.single {
    // 64 x 64 sums from the other block, and its row of maxima.
    // CHECK: tile.mbarrier_arrive %{{.*}}[%{{.*}}] bytes 16384
    tile.mbarrier_arrive %received[%c0] bytes 16384 : !tile.mbarriers<2>
    tile.mbarrier_arrive %received[%c1] bytes 256 : !tile.mbarriers<2>
    tile.acquire %q_pipe[%c0] : !pipe
    tile.fill %q_pipe[%c0] from %q_map(%column, %c0, %h, %b) : !pipe, !map
    tile.acquire %k_pipe[%c0] : !pipe
    tile.fill %k_pipe[%c0] from %k_map(%column, %c0, %h, %b) : !pipe, !map
  }
  // The other block has started its barriers.
  // CHECK: tile.cluster_sync
  tile.cluster_sync
  %s = tile.registers : !scores loc("s")
  %q = tile.stage %q_pipe[%c0] : !pipe -> !half
  %k = tile.stage %k_pipe[%c0] : !pipe -> !half
  tile.await %q_pipe[%c0] : !pipe
  tile.await %k_pipe[%c0] : !pipe
  tile.mma_fence
  tile.mma_start %s, %q, %k transposed fresh : !scores, !half, !half
  tile.mma_commit
  tile.mma_wait 0 for %s : !scores
  // CHECK: tile.send_fragment
  tile.send_fragment %s to %sums at %peer, %received[%c0] : !scores -> !sums, !tile.mbarriers<2>
  // CHECK: tile.mbarrier_wait
  tile.mbarrier_wait %received[%c0] parity %c0 : !tile.mbarriers<2>
  // CHECK: tile.receive_fragment
  tile.receive_fragment %s from %sums : !scores, !sums

  // Both blocks tell each other the rows' maxima, and subtract the other's: those are the same.
  %warp = tile.warp
  %warp_row = arith.muli %warp, %c16 : i32 loc("warp_row")
  %m = tile.registers all 0xFF800000 : !tile.rows<16> loc("m")
  tile.reduce_rows max %s into %m : !scores, !tile.rows<16>
  tile.reduce_quad max %m : !tile.rows<16>
  tile.write_vector %m to %mine[%warp_row] : !tile.rows<16>, !small
  tile.publish
  tile.barrier
  tile.single {
    // CHECK: tile.send
    tile.send %mine to %theirs at %peer, %received[%c1] : !small -> !small, !tile.mbarriers<2>
  }
  tile.mbarrier_wait %received[%c1] parity %c0 : !tile.mbarriers<2>
  tile.read_vector %m from %theirs[%warp_row] : !tile.rows<16>, !small
  tile.map rows(%warp_row as %i) cols(%c0 as %j) ins(%x = %s : !scores, %y = %m : !tile.rows<16>) outs(%s : !scores) {
    %z = arith.subf %x, %y : f32
    tile.yield %z : f32
  }
  %strip = tile.strip %out[%warp_row] : !out_tile -> !strip
  // CHECK: tile.store_fragment
  tile.store_fragment %s to %strip : !scores, !strip
  tile.publish
  tile.barrier
  %is_first = arith.cmpi eq, %rank, %c0 : i32
  scf.if %is_first {
    tile.single {
      // CHECK: tile.store_box
      tile.store_box %out to %s_map(%c0, %h, %b) : !out_tile -> !map
      tile.store_commit
      tile.store_wait 0
    }
  }
  // No block ends while the other one still sends to it.
  tile.cluster_sync
}
