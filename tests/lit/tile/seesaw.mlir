// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// Attention at 512 columns, by hand: two groups own half of the result's columns each, for the same 64
// rows, and take the key tiles in turn. Each needs the other's weights as well: they pass through
// shared memory (a pipe that warps write), with the reference maxima that they were taken against.
// Where a reference has moved, which is rare, everything that was summed is rescaled: the result, the
// own weights in registers, the other's in shared memory. Two warps copy, one for each group: the
// tiles of keys and of values take turns in one ring.

!k_tile = !tile.shared<64, 128, f16, panels 64>
!v_tile = !tile.shared<32, 256, f16, panels 32>
!q_tile = !tile.shared<64, 512, f16, panels 64>
!p_tile = !tile.shared<64, 64, f16, panels 64>
!vector = !tile.shared<1, 64, f32>
!k_ring = !tile.pipe<4, <64, 128, f16, panels 64>>
!v_ring = !tile.pipe<4, <32, 256, f16, panels 32>>
!q_pipe = !tile.pipe<1, <64, 512, f16, panels 64>>
!p_pipe = !tile.pipe<1, <64, 64, f16, panels 64>>
!row_map = !tile.tensor_map<[64, 64, 1, 1], f16>
!v_map = !tile.tensor_map<[64, 32, 1, 1], f16>
!strip = !tile.shared<16, 64, f16, panels 64>
!result = !tile.fragment<16, 256>
!rows = !tile.rows<16>
!weights = !tile.operand<16, 64, f16>
!half = !tile.operand<16, 32, f16>
!columns = !tile.shared<64, 32, f16, panels 64>

tile.kernel @seesaw("q_map" = %q_map: !row_map, "k_map" = %k_map: !row_map, "v_map" = %v_map: !v_map, "o" = %o_out: !tile.ptr<f16>, "o_stride0" = %o_stride0: i64, "o_stride1" = %o_stride1: i64, "o_stride2" = %o_stride2: i64, "size_h" = %size_h: i32, "size_i" = %size_i: i32, "size_j" = %size_j: i32, "scale" = %scale: f32) grid [["mul", ["ceildiv", ["size", "i"], 64], ["mul", ["size", "b"], ["size", "h"]]]] threads 384 smem 214192 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %c6 = arith.constant 6 : i32
  %c7 = arith.constant 7 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %c63 = arith.constant 63 : i32
  %c64 = arith.constant 64 : i32
  %c127 = arith.constant 127 : i32
  %c128 = arith.constant 128 : i32
  %c256 = arith.constant 256 : i32
  %c384 = arith.constant 384 : i32
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %slack = arith.constant 8.0 : f32
  %minus_inf = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.4426950408889634 : f32
  %c256_wide = arith.constant 256 : i64

  %i_up = arith.addi %size_i, %c63 : i32
  %i_tiles = arith.divsi %i_up, %c64 : i32 loc("i_tiles")
  %j_up = arith.addi %size_j, %c127 : i32
  %steps = arith.divsi %j_up, %c128 : i32 loc("steps")
  %last = arith.subi %steps, %c1 : i32 loc("last")

  %q_pipe = tile.pipe at 0 barriers 214016 users 8 : !q_pipe loc("q_pipe")
  // One ring for each group; keys and values take turns in it.
  %k_ring0 = tile.pipe at 65536 barriers 214032 users 4 : !k_ring loc("k_ring0")
  %v_ring0 = tile.pipe at 65536 barriers 214032 users 4 : !v_ring loc("v_ring0")
  %k_ring1 = tile.pipe at 131072 barriers 214096 users 4 : !k_ring loc("k_ring1")
  %v_ring1 = tile.pipe at 131072 barriers 214096 users 4 : !v_ring loc("v_ring1")
  // CHECK: tile.pipe at 196608 barriers 214160 users 4 writers 4
  %p_pipe0 = tile.pipe at 196608 barriers 214160 users 4 writers 4 : !p_pipe loc("p_pipe0")
  %p_pipe1 = tile.pipe at 204800 barriers 214176 users 4 writers 4 : !p_pipe loc("p_pipe1")
  %m_tile0 = tile.shared at 212992 : !vector loc("m_tile0")
  %m_tile1 = tile.shared at 213248 : !vector loc("m_tile1")
  %l_tile0 = tile.shared at 213504 : !vector loc("l_tile0")
  %l_tile1 = tile.shared at 213760 : !vector loc("l_tile1")
  tile.start_pipes %q_pipe, %k_ring0, %k_ring1, %p_pipe0, %p_pipe1 : !q_pipe, !k_ring, !k_ring, !p_pipe, !p_pipe

  tile.role "compute" warps 0 count 8 registers 240 {
    %group = tile.group loc("group")
    %peer = arith.subi %c1, %group : i32 loc("peer")
    %own_barrier = arith.addi %group, %c1 : i32 loc("own_barrier")
    // CHECK: tile.choose
    %k_own = tile.choose %group of (%k_ring0, %k_ring1) : !k_ring, !k_ring -> !k_ring loc("k_own")
    %v_own = tile.choose %group of (%v_ring0, %v_ring1) : !v_ring, !v_ring -> !v_ring loc("v_own")
    %p_own = tile.choose %group of (%p_pipe0, %p_pipe1) : !p_pipe, !p_pipe -> !p_pipe loc("p_own")
    %p_peer = tile.choose %peer of (%p_pipe0, %p_pipe1) : !p_pipe, !p_pipe -> !p_pipe loc("p_peer")
    %m_own = tile.choose %group of (%m_tile0, %m_tile1) : !vector, !vector -> !vector loc("m_own")
    %m_peer = tile.choose %peer of (%m_tile0, %m_tile1) : !vector, !vector -> !vector loc("m_peer")
    %scale_log2 = arith.mulf %scale, %log2e : f32 loc("scale_log2")
    %warp = tile.warp
    %warp_in_group = arith.remsi %warp, %c4 : i32
    %warp_row = arith.muli %warp_in_group, %c16 : i32 loc("warp_row")

    %acc = tile.registers all 0.0 : !result loc("acc")
    %s = tile.registers : !tile.fragment<16, 64> loc("s")
    %p = tile.registers : !weights loc("p")
    %p_next = tile.registers : !weights loc("p_next")
    %m = tile.registers all -1.0e30 : !rows loc("m")
    %l = tile.registers all 0.0 : !rows loc("l")
    %m_tile = tile.registers : !rows loc("m_tile")
    %l_tile = tile.registers : !rows loc("l_tile")
    %m_other = tile.registers : !rows loc("m_other")

    %q = tile.stage %q_pipe[%c0] : !q_pipe -> !q_tile loc("q")
    // CHECK: tile.columns
    %q0 = tile.columns %q[%c0] : !q_tile -> !k_tile
    %q1 = tile.columns %q[%c128] : !q_tile -> !k_tile
    %q2 = tile.columns %q[%c256] : !q_tile -> !k_tile
    %q3 = tile.columns %q[%c384] : !q_tile -> !k_tile
    tile.await %q_pipe[%c0] : !q_pipe
    // The first key tile.
    %j_first = arith.muli %group, %c64 : i32 loc("j_first")
    tile.await %k_own[%c0] : !k_ring
    tile.mma_fence
    %ka0 = tile.stage %k_own[%c0] : !k_ring -> !k_tile
    tile.mma_start %s, %q0, %ka0 transposed fresh : !tile.fragment<16, 64>, !k_tile, !k_tile
    tile.mma_commit
    tile.await %k_own[%c1] : !k_ring
    tile.mma_fence
    %ka1 = tile.stage %k_own[%c1] : !k_ring -> !k_tile
    tile.mma_start %s, %q1, %ka1 transposed : !tile.fragment<16, 64>, !k_tile, !k_tile
    tile.mma_commit
    tile.mma_wait 1
    tile.release %k_own[%c0] : !k_ring
    tile.await %k_own[%c2] : !k_ring
    tile.mma_fence
    %ka2 = tile.stage %k_own[%c2] : !k_ring -> !k_tile
    tile.mma_start %s, %q2, %ka2 transposed : !tile.fragment<16, 64>, !k_tile, !k_tile
    tile.mma_commit
    tile.mma_wait 1
    tile.release %k_own[%c1] : !k_ring
    tile.await %k_own[%c3] : !k_ring
    tile.mma_fence
    %ka3 = tile.stage %k_own[%c3] : !k_ring -> !k_tile
    tile.mma_start %s, %q3, %ka3 transposed : !tile.fragment<16, 64>, !k_tile, !k_tile
    tile.mma_commit
    tile.mma_wait 1
    tile.release %k_own[%c2] : !k_ring
    tile.mma_wait 0 for %s : !tile.fragment<16, 64>
    tile.release %k_own[%c3] : !k_ring
    %bound_a = arith.addi %j_first, %c64 : i32
    %full_a = arith.cmpi sle, %bound_a, %size_j : i32
    scf.if %full_a {
    } else {
      tile.map rows(%c0 as %i) cols(%j_first as %j) ins(%x = %s : !tile.fragment<16, 64>) outs(%s : !tile.fragment<16, 64>) {
        %inside = arith.cmpi slt, %j, %size_j : i32
        %y = arith.select %inside, %x, %minus_inf : f32
        tile.yield %y : f32
      }
    }
    %top_a = tile.registers all 0xFF800000 : !rows loc("top")
    tile.reduce_rows max %s into %top_a : !tile.fragment<16, 64>, !rows
    tile.reduce_quad max %top_a : !rows
    tile.map rows(%c0 as %i) ins(%x = %top_a : !rows, %y = %m : !rows) outs(%m_tile : !rows) {
      %xs = arith.mulf %x, %scale_log2 : f32
      %ys = arith.mulf %y, %scale_log2 : f32
      %reach = arith.addf %ys, %slack : f32
      %exceeds = arith.cmpf ogt, %xs, %reach : f32
      %z = arith.select %exceeds, %x, %y : f32
      tile.yield %z : f32
    }
    tile.map rows(%c0 as %i) cols(%j_first as %j) ins(%x = %s : !tile.fragment<16, 64>, %z = %m_tile : !rows) outs(%s : !tile.fragment<16, 64>) {
      %zs = arith.mulf %z, %scale_log2 : f32
      %minus = arith.negf %zs : f32
      %e = math.fma %x, %scale_log2, %minus : f32
      %y = math.exp2 %e fastmath<afn> : f32
      tile.yield %y : f32
    }
    tile.map rows(%c0 as %i) ins() outs(%l_tile : !rows) {
      tile.yield %f0 : f32
    }
    tile.reduce_rows add %s into %l_tile : !tile.fragment<16, 64>, !rows
    tile.convert %s to %p_next : !tile.fragment<16, 64> -> !weights
    tile.acquire %p_own[%c0] : !p_pipe
    %p_out_a = tile.stage %p_own[%c0] : !p_pipe -> !p_tile
    %p_strip_a = tile.strip %p_out_a[%warp_row] : !p_tile -> !strip
    // CHECK: tile.store_operand
    tile.store_operand %p_next to %p_strip_a : !weights, !strip
    tile.write_vector %m_tile to %m_own[%warp_row] : !rows, !vector
    tile.publish
    tile.complete %p_own[%c0] : !p_pipe
    tile.move %p_next to %p : !weights
    scf.for %step = %c0 to %last step %c1 : i32 {
      %next = arith.addi %step, %c1 : i32 loc("next")
      %eight = arith.muli %step, %c8 : i32
      %n0 = arith.addi %eight, %c4 : i32 loc("n0")
      %n1 = arith.addi %n0, %c1 : i32
      %n2 = arith.addi %n0, %c2 : i32
      %n3 = arith.addi %n0, %c3 : i32
      %n4 = arith.addi %n0, %c4 : i32
      %n5 = arith.addi %n0, %c5 : i32
      %n6 = arith.addi %n0, %c6 : i32
      %n7 = arith.addi %n0, %c7 : i32
      %two = arith.muli %next, %c128 : i32
      %j0 = arith.addi %two, %j_first : i32 loc("j0")
      tile.await %k_own[%n0] : !k_ring
      tile.mma_fence
      %kb0 = tile.stage %k_own[%n0] : !k_ring -> !k_tile
      tile.mma_start %s, %q0, %kb0 transposed fresh : !tile.fragment<16, 64>, !k_tile, !k_tile
      tile.mma_commit
      tile.await %k_own[%n1] : !k_ring
      tile.mma_fence
      %kb1 = tile.stage %k_own[%n1] : !k_ring -> !k_tile
      tile.mma_start %s, %q1, %kb1 transposed : !tile.fragment<16, 64>, !k_tile, !k_tile
      tile.mma_commit
      tile.mma_wait 1
      tile.release %k_own[%n0] : !k_ring
      tile.await %k_own[%n2] : !k_ring
      tile.mma_fence
      %kb2 = tile.stage %k_own[%n2] : !k_ring -> !k_tile
      tile.mma_start %s, %q2, %kb2 transposed : !tile.fragment<16, 64>, !k_tile, !k_tile
      tile.mma_commit
      tile.mma_wait 1
      tile.release %k_own[%n1] : !k_ring
      tile.await %k_own[%n3] : !k_ring
      tile.mma_fence
      %kb3 = tile.stage %k_own[%n3] : !k_ring -> !k_tile
      tile.mma_start %s, %q3, %kb3 transposed : !tile.fragment<16, 64>, !k_tile, !k_tile
      tile.mma_commit
      tile.mma_wait 1
      tile.release %k_own[%n2] : !k_ring
      tile.await %p_peer[%step] : !p_pipe
      tile.read_vector %m_other from %m_peer[%warp_row] : !rows, !vector
      %differsb = tile.any(%m, %m_tile, %m_other) : !rows, !rows, !rows {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %own_moved = arith.cmpf une, %y, %x : f32
        %other_moved = arith.cmpf une, %z, %x : f32
        %either = arith.ori %own_moved, %other_moved : i1
        tile.yield %either : i1
      }
      // CHECK: tile.barrier_sync %{{.*}} threads 128 any
      %movedb = tile.barrier_sync %own_barrier threads 128 any %differsb : i1 loc("moved")
      %p_inb = tile.stage %p_peer[%step] : !p_pipe -> !p_tile loc("p_in")
      scf.if %movedb {
        %by_acc = tile.registers : !rows loc("by_acc")
        %by_own = tile.registers : !rows loc("by_own")
        %by_other = tile.registers : !rows loc("by_other")
        tile.map rows(%c0 as %i) ins(%x = %m : !rows, %y = %m_tile : !rows, %z = %m_other : !rows) outs(%by_acc : !rows, %by_own : !rows, %by_other : !rows, %m : !rows) {
          %new = arith.maximumf %y, %z : f32 loc("new")
          %dx = arith.subf %x, %new : f32
          %dy = arith.subf %y, %new : f32
          %dz = arith.subf %z, %new : f32
          %xs = arith.mulf %dx, %scale_log2 : f32
          %ys = arith.mulf %dy, %scale_log2 : f32
          %zs = arith.mulf %dz, %scale_log2 : f32
          %ex = math.exp2 %xs fastmath<afn> : f32
          %ey = math.exp2 %ys fastmath<afn> : f32
          %ez = math.exp2 %zs fastmath<afn> : f32
          tile.yield %ex, %ey, %ez, %new : f32, f32, f32, f32
        }
        tile.scale_rows %acc by %by_acc : !result, !rows
        // CHECK: tile.scale_packed
        tile.scale_packed %p by %by_own : !weights, !rows
        %other_strip = tile.strip %p_inb[%warp_row] : !p_tile -> !strip
        tile.scale_packed %other_strip by %by_other : !strip, !rows
        tile.map rows(%c0 as %i) ins(%x = %l : !rows, %y = %l_tile : !rows, %f = %by_acc : !rows, %g = %by_own : !rows) outs(%l : !rows, %l_tile : !rows) {
          %xs = arith.mulf %x, %f : f32
          %ys = arith.mulf %y, %g : f32
          tile.yield %xs, %ys : f32, f32
        }
        tile.publish
        tile.barrier_sync %own_barrier threads 128
      }
      tile.map rows(%c0 as %i) ins(%x = %l : !rows, %y = %l_tile : !rows) outs(%l : !rows) {
        %z = arith.addf %x, %y : f32
        tile.yield %z : f32
      }
      %ab0 = tile.columns %p_inb[%c0] : !p_tile -> !columns
      tile.await %v_own[%n4] : !v_ring
      tile.mma_fence
      %vb0 = tile.stage %v_own[%n4] : !v_ring -> !v_tile
      tile.mma_start %acc, %ab0, %vb0 : !result, !columns, !v_tile
      tile.mma_commit
      tile.mma_wait 1 for %s : !tile.fragment<16, 64>
      tile.release %k_own[%n3] : !k_ring
      %ab1 = tile.columns %p_inb[%c32] : !p_tile -> !columns
      tile.await %v_own[%n5] : !v_ring
      tile.mma_fence
      %vb1 = tile.stage %v_own[%n5] : !v_ring -> !v_tile
      tile.mma_start %acc, %ab1, %vb1 : !result, !columns, !v_tile
      tile.mma_commit
      %bound_b = arith.addi %j0, %c64 : i32
      %full_b = arith.cmpi sle, %bound_b, %size_j : i32
      scf.if %full_b {
      } else {
        tile.map rows(%c0 as %i) cols(%j0 as %j) ins(%x = %s : !tile.fragment<16, 64>) outs(%s : !tile.fragment<16, 64>) {
          %inside = arith.cmpi slt, %j, %size_j : i32
          %y = arith.select %inside, %x, %minus_inf : f32
          tile.yield %y : f32
        }
      }
      %top_b = tile.registers all 0xFF800000 : !rows loc("top")
      tile.reduce_rows max %s into %top_b : !tile.fragment<16, 64>, !rows
      tile.reduce_quad max %top_b : !rows
      tile.map rows(%c0 as %i) ins(%x = %top_b : !rows, %y = %m : !rows) outs(%m_tile : !rows) {
        %xs = arith.mulf %x, %scale_log2 : f32
        %ys = arith.mulf %y, %scale_log2 : f32
        %reach = arith.addf %ys, %slack : f32
        %exceeds = arith.cmpf ogt, %xs, %reach : f32
        %z = arith.select %exceeds, %x, %y : f32
        tile.yield %z : f32
      }
      tile.map rows(%c0 as %i) cols(%j0 as %j) ins(%x = %s : !tile.fragment<16, 64>, %z = %m_tile : !rows) outs(%s : !tile.fragment<16, 64>) {
        %zs = arith.mulf %z, %scale_log2 : f32
        %minus = arith.negf %zs : f32
        %e = math.fma %x, %scale_log2, %minus : f32
        %y = math.exp2 %e fastmath<afn> : f32
        tile.yield %y : f32
      }
      tile.map rows(%c0 as %i) ins() outs(%l_tile : !rows) {
        tile.yield %f0 : f32
      }
      tile.reduce_rows add %s into %l_tile : !tile.fragment<16, 64>, !rows
      tile.convert %s to %p_next : !tile.fragment<16, 64> -> !weights
      %abo0 = tile.columns %p[%c0] : !weights -> !half
      tile.await %v_own[%n6] : !v_ring
      tile.mma_fence
      %vbo0 = tile.stage %v_own[%n6] : !v_ring -> !v_tile
      tile.mma_start %acc, %abo0, %vbo0 : !result, !half, !v_tile
      tile.mma_commit
      tile.mma_wait 2
      tile.release %v_own[%n4] : !v_ring
      %abo1 = tile.columns %p[%c32] : !weights -> !half
      tile.await %v_own[%n7] : !v_ring
      tile.mma_fence
      %vbo1 = tile.stage %v_own[%n7] : !v_ring -> !v_tile
      tile.mma_start %acc, %abo1, %vbo1 : !result, !half, !v_tile
      tile.mma_commit
      tile.mma_wait 2
      tile.release %v_own[%n5] : !v_ring
      tile.release %p_peer[%step] : !p_pipe
      tile.acquire %p_own[%next] : !p_pipe
      %p_out_b = tile.stage %p_own[%next] : !p_pipe -> !p_tile
      %p_strip_b = tile.strip %p_out_b[%warp_row] : !p_tile -> !strip
      // CHECK: tile.store_operand
      tile.store_operand %p_next to %p_strip_b : !weights, !strip
      tile.write_vector %m_tile to %m_own[%warp_row] : !rows, !vector
      tile.publish
      tile.complete %p_own[%next] : !p_pipe
      tile.mma_wait 1
      tile.release %v_own[%n6] : !v_ring
      tile.mma_wait 0 for %acc : !result
      tile.release %v_own[%n7] : !v_ring
      tile.move %p_next to %p : !weights
    }
    // The last step has no more scores.
    %last_eight = arith.muli %last, %c8 : i32
    %e0 = arith.addi %last_eight, %c4 : i32
    %e1 = arith.addi %e0, %c1 : i32
    %e2 = arith.addi %e0, %c2 : i32
    %e3 = arith.addi %e0, %c3 : i32
    tile.await %p_peer[%last] : !p_pipe
    tile.read_vector %m_other from %m_peer[%warp_row] : !rows, !vector
    %differsc = tile.any(%m, %m_tile, %m_other) : !rows, !rows, !rows {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %own_moved = arith.cmpf une, %y, %x : f32
      %other_moved = arith.cmpf une, %z, %x : f32
      %either = arith.ori %own_moved, %other_moved : i1
      tile.yield %either : i1
    }
    // CHECK: tile.barrier_sync %{{.*}} threads 128 any
    %movedc = tile.barrier_sync %own_barrier threads 128 any %differsc : i1 loc("moved")
    %p_inc = tile.stage %p_peer[%last] : !p_pipe -> !p_tile loc("p_in")
    scf.if %movedc {
      %by_acc = tile.registers : !rows loc("by_acc")
      %by_own = tile.registers : !rows loc("by_own")
      %by_other = tile.registers : !rows loc("by_other")
      tile.map rows(%c0 as %i) ins(%x = %m : !rows, %y = %m_tile : !rows, %z = %m_other : !rows) outs(%by_acc : !rows, %by_own : !rows, %by_other : !rows, %m : !rows) {
        %new = arith.maximumf %y, %z : f32 loc("new")
        %dx = arith.subf %x, %new : f32
        %dy = arith.subf %y, %new : f32
        %dz = arith.subf %z, %new : f32
        %xs = arith.mulf %dx, %scale_log2 : f32
        %ys = arith.mulf %dy, %scale_log2 : f32
        %zs = arith.mulf %dz, %scale_log2 : f32
        %ex = math.exp2 %xs fastmath<afn> : f32
        %ey = math.exp2 %ys fastmath<afn> : f32
        %ez = math.exp2 %zs fastmath<afn> : f32
        tile.yield %ex, %ey, %ez, %new : f32, f32, f32, f32
      }
      tile.scale_rows %acc by %by_acc : !result, !rows
      // CHECK: tile.scale_packed
      tile.scale_packed %p by %by_own : !weights, !rows
      %other_strip = tile.strip %p_inc[%warp_row] : !p_tile -> !strip
      tile.scale_packed %other_strip by %by_other : !strip, !rows
      tile.map rows(%c0 as %i) ins(%x = %l : !rows, %y = %l_tile : !rows, %f = %by_acc : !rows, %g = %by_own : !rows) outs(%l : !rows, %l_tile : !rows) {
        %xs = arith.mulf %x, %f : f32
        %ys = arith.mulf %y, %g : f32
        tile.yield %xs, %ys : f32, f32
      }
      tile.publish
      tile.barrier_sync %own_barrier threads 128
    }
    tile.map rows(%c0 as %i) ins(%x = %l : !rows, %y = %l_tile : !rows) outs(%l : !rows) {
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    %ac0 = tile.columns %p_inc[%c0] : !p_tile -> !columns
    tile.await %v_own[%e0] : !v_ring
    tile.mma_fence
    %vc0 = tile.stage %v_own[%e0] : !v_ring -> !v_tile
    tile.mma_start %acc, %ac0, %vc0 : !result, !columns, !v_tile
    tile.mma_commit
    %ac1 = tile.columns %p_inc[%c32] : !p_tile -> !columns
    tile.await %v_own[%e1] : !v_ring
    tile.mma_fence
    %vc1 = tile.stage %v_own[%e1] : !v_ring -> !v_tile
    tile.mma_start %acc, %ac1, %vc1 : !result, !columns, !v_tile
    tile.mma_commit
    %aco0 = tile.columns %p[%c0] : !weights -> !half
    tile.await %v_own[%e2] : !v_ring
    tile.mma_fence
    %vco0 = tile.stage %v_own[%e2] : !v_ring -> !v_tile
    tile.mma_start %acc, %aco0, %vco0 : !result, !half, !v_tile
    tile.mma_commit
    tile.mma_wait 2
    tile.release %v_own[%e0] : !v_ring
    %aco1 = tile.columns %p[%c32] : !weights -> !half
    tile.await %v_own[%e3] : !v_ring
    tile.mma_fence
    %vco1 = tile.stage %v_own[%e3] : !v_ring -> !v_tile
    tile.mma_start %acc, %aco1, %vco1 : !result, !half, !v_tile
    tile.mma_commit
    tile.mma_wait 2
    tile.release %v_own[%e1] : !v_ring
    tile.release %p_peer[%last] : !p_pipe
    tile.mma_wait 0 for %acc : !result
    tile.release %v_own[%e2] : !v_ring
    tile.release %v_own[%e3] : !v_ring
    // Each group has summed the weights of its own tiles.
    tile.reduce_quad add %l : !rows
    %l_own = tile.choose %group of (%l_tile0, %l_tile1) : !vector, !vector -> !vector
    %l_peer = tile.choose %peer of (%l_tile0, %l_tile1) : !vector, !vector -> !vector
    tile.write_vector %l to %l_own[%warp_row] : !rows, !vector
    tile.barrier_sync %c3 threads 256
    %l_other = tile.registers : !rows loc("l_other")
    tile.read_vector %l_other from %l_peer[%warp_row] : !rows, !vector
    tile.map rows(%c0 as %i) ins(%x = %l : !rows, %y = %l_other : !rows) outs(%l : !rows) {
      %sum = arith.addf %x, %y : f32 loc("sum")
      %empty = arith.cmpf oeq, %sum, %f0 : f32
      %inverse = arith.divf %f1, %sum : f32
      %r = arith.select %empty, %f0, %inverse : f32
      tile.yield %r : f32
    }
    tile.scale_rows %acc by %l : !result, !rows
    %end_block = tile.block
    %end_i_tile = arith.remsi %end_block, %i_tiles : i32
    %end_i0 = arith.muli %end_i_tile, %c64 : i32 loc("i0")
    %end_cell = arith.divsi %end_block, %i_tiles : i32 loc("cell")
    %end_h = arith.remsi %end_cell, %size_h : i32
    %end_b = arith.divsi %end_cell, %size_h : i32
    %h_wide = arith.extsi %end_h : i32 to i64
    %b_wide = arith.extsi %end_b : i32 to i64
    %b_part = arith.muli %b_wide, %o_stride0 : i64
    %h_part = arith.muli %h_wide, %o_stride1 : i64
    %bh = arith.addi %b_part, %h_part : i64
    %group_wide = arith.extsi %group : i32 to i64
    %column = arith.muli %group_wide, %c256_wide : i64
    %offset = arith.addi %bh, %column : i64
    %i_begin = arith.addi %end_i0, %warp_row : i32
    tile.store_fragment_rows %acc from %i_begin to %size_i, %o_out[%offset] stride %o_stride2 : !result -> !tile.ptr<f16>
  }
  tile.role "load" warps 8 count 4 registers 24 {
    %warp = tile.warp
    %group = arith.subi %warp, %c8 : i32 loc("group")
    // The third warp copies the queries.
    %resident = arith.cmpi eq, %group, %c2 : i32
    scf.if %resident {
      tile.single each_warp {
        %block = tile.block
        %i_tile = arith.remsi %block, %i_tiles : i32
        %i0 = arith.muli %i_tile, %c64 : i32 loc("i0")
        %cell = arith.divsi %block, %i_tiles : i32 loc("cell")
        %h = arith.remsi %cell, %size_h : i32 loc("h")
        %b = arith.divsi %cell, %size_h : i32 loc("b")
        tile.acquire %q_pipe[%c0] : !q_pipe
        tile.fill %q_pipe[%c0] from %q_map(%i0, %h, %b) : !q_pipe, !row_map
      }
    }
    %loads = arith.cmpi slt, %group, %c2 : i32
    scf.if %loads {
      // CHECK: tile.single each_warp
      tile.single each_warp {
        %k_own = tile.choose %group of (%k_ring0, %k_ring1) : !k_ring, !k_ring -> !k_ring loc("k_own")
        %v_own = tile.choose %group of (%v_ring0, %v_ring1) : !v_ring, !v_ring -> !v_ring loc("v_own")
        %peer = arith.subi %c1, %group : i32 loc("peer")
        %block = tile.block
        %cell = arith.divsi %block, %i_tiles : i32 loc("cell")
        %h = arith.remsi %cell, %size_h : i32 loc("h")
        %b = arith.divsi %cell, %size_h : i32 loc("b")
        %j_first = arith.muli %group, %c64 : i32 loc("j_first")
        %j_peer = arith.muli %peer, %c64 : i32 loc("j_peer")
        scf.for %c = %c0 to %c4 step %c1 : i32 {
          %column = arith.muli %c, %c128 : i32
          tile.acquire %k_own[%c] : !k_ring
          // CHECK: tile.fill %{{.*}}[%{{.*}}] from %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
          tile.fill %k_own[%c] from %k_map(%column, %j_first, %h, %b) : !k_ring, !row_map
        }
        scf.for %step = %c0 to %steps step %c1 : i32 {
          // The keys of the next step, then the values of this one: first the other group's.
          %next = arith.addi %step, %c1 : i32 loc("next")
          %eight = arith.muli %step, %c8 : i32
          %n0 = arith.addi %eight, %c4 : i32 loc("n0")
          %more = arith.cmpi slt, %next, %steps : i32 loc("more")
          %n_values = scf.if %more -> (i32) {
            %two = arith.muli %next, %c128 : i32
            %j0 = arith.addi %two, %j_first : i32 loc("j0")
            scf.for %c = %c0 to %c4 step %c1 : i32 {
              %n = arith.addi %n0, %c : i32 loc("n")
              %column = arith.muli %c, %c128 : i32
              tile.acquire %k_own[%n] : !k_ring
              tile.fill %k_own[%n] from %k_map(%column, %j0, %h, %b) : !k_ring, !row_map
            }
            %n4 = arith.addi %n0, %c4 : i32
            scf.yield %n4 : i32
          } else {
            scf.yield %n0 : i32
          } loc("n_values")
          %here = arith.muli %step, %c128 : i32 loc("here")
          scf.for %c = %c0 to %c4 step %c1 : i32 {
            %n = arith.addi %n_values, %c : i32 loc("n")
            // From the warp's number, read anew: this role has few registers.
            %warp_now = tile.warp
            %group_now = arith.subi %warp_now, %c8 : i32
            %half = arith.muli %group_now, %c256 : i32
            %is_own = arith.cmpi sge, %c, %c2 : i32
            %j_tile = arith.select %is_own, %j_first, %j_peer : i32
            %odd = arith.remsi %c, %c2 : i32
            %part = arith.muli %odd, %c32 : i32
            %in_step = arith.addi %j_tile, %part : i32
            %j0 = arith.addi %here, %in_step : i32 loc("j0")
            tile.acquire %v_own[%n] : !v_ring
            tile.fill %v_own[%n] from %v_map(%half, %j0, %h, %b) : !v_ring, !v_map
          }
        }
      }
    }
  }
}
