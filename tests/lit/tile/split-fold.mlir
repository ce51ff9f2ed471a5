// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// A fold over keys in four parts, by hand: each block folds its part and saves its state (maximum, sum,
// accumulator) to global memory; the block that comes last merges the four states, in their order, so
// that the result does not depend on which one that was. The counter stands at 0 before and after.

!q_tile = !tile.shared<64, 64, bf16, panels 64>
!q_pipe = !tile.pipe<1, <64, 64, bf16, panels 64>>
!kv_pipe = !tile.pipe<2, <64, 64, bf16, panels 64>>
!map = !tile.tensor_map<[64, 64, 1, 1], bf16>
!scores = !tile.fragment<16, 64>
!rows = !tile.rows<16>
!weights = !tile.operand<16, 64, bf16>

tile.kernel @split_fold("q_map" = %q_map: !map, "k_map" = %k_map: !map, "v_map" = %v_map: !map, "o" = %o_out: !tile.ptr<bf16>, "partial" = %partial: !tile.ptr<f32>, "counter" = %counter: !tile.ptr<i32>, "o_stride0" = %o_stride0: i64, "o_stride1" = %o_stride1: i64, "o_stride2" = %o_stride2: i64, "size_h" = %size_h: i32, "size_i" = %size_i: i32, "size_j" = %size_j: i32, "scale" = %scale: f32) grid [["mul", 4, ["mul", ["ceildiv", ["size", "i"], 64], ["mul", ["size", "b"], ["size", "h"]]]]] threads 256 smem 41040 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %c63 = arith.constant 63 : i32
  %c64 = arith.constant 64 : i32
  %c255 = arith.constant 255 : i32
  %c256 = arith.constant 256 : i32
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %minus_inf = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.4426950408889634 : f32
  %c64_wide = arith.constant 64 : i64
  %c1024_wide = arith.constant 1024 : i64
  %c1088_wide = arith.constant 1088 : i64
  %c1152_wide = arith.constant 1152 : i64
  %c4608_wide = arith.constant 4608 : i64

  %i_up = arith.addi %size_i, %c63 : i32
  %i_tiles = arith.divsi %i_up, %c64 : i32 loc("i_tiles")
  %block = tile.block
  %part = arith.remsi %block, %c4 : i32 loc("part")
  %piece = arith.divsi %block, %c4 : i32 loc("piece")
  %i_tile = arith.remsi %piece, %i_tiles : i32
  %i0 = arith.muli %i_tile, %c64 : i32 loc("i0")
  %cell = arith.divsi %piece, %i_tiles : i32 loc("cell")
  %h = arith.remsi %cell, %size_h : i32 loc("h")
  %b = arith.divsi %cell, %size_h : i32 loc("b")
  %j_up = arith.addi %size_j, %c255 : i32
  %part_tiles = arith.divsi %j_up, %c256 : i32 loc("part_tiles")
  %j_tiles_up = arith.addi %size_j, %c63 : i32
  %j_tiles = arith.divsi %j_tiles_up, %c64 : i32 loc("j_tiles")
  %begin = arith.muli %part, %part_tiles : i32 loc("begin")
  %part_end = arith.addi %begin, %part_tiles : i32
  %end = arith.minsi %part_end, %j_tiles : i32 loc("end")

  %q_pipe = tile.pipe at 0 barriers 40960 users 4 : !q_pipe loc("q_pipe")
  %k_pipe = tile.pipe at 8192 barriers 40976 users 4 : !kv_pipe loc("k_pipe")
  %v_pipe = tile.pipe at 24576 barriers 41008 users 4 : !kv_pipe loc("v_pipe")
  tile.start_pipes %q_pipe, %k_pipe, %v_pipe : !q_pipe, !kv_pipe, !kv_pipe

  tile.role "load" warps 0 count 4 registers 56 {
    tile.single {
      tile.acquire %q_pipe[%c0] : !q_pipe
      tile.fill %q_pipe[%c0] from %q_map(%i0, %h, %b) : !q_pipe, !map
      scf.for %t = %begin to %end step %c1 : i32 {
        %n = arith.subi %t, %begin : i32 loc("n")
        %j0 = arith.muli %t, %c64 : i32 loc("j0")
        tile.acquire %k_pipe[%n] : !kv_pipe
        tile.fill %k_pipe[%n] from %k_map(%j0, %h, %b) : !kv_pipe, !map
        tile.acquire %v_pipe[%n] : !kv_pipe
        tile.fill %v_pipe[%n] from %v_map(%j0, %h, %b) : !kv_pipe, !map
      }
    }
  }
  tile.role "compute" warps 4 count 4 registers 256 {
    %scale_log2 = arith.mulf %scale, %log2e : f32 loc("scale_log2")
    %m = tile.registers all 0xFF800000 : !rows loc("m")
    %l = tile.registers all 0.0 : !rows loc("l")
    %acc = tile.registers all 0.0 : !scores loc("acc")
    %s = tile.registers : !scores loc("s")
    %p = tile.registers : !weights loc("p")
    %q = tile.stage %q_pipe[%c0] : !q_pipe -> !q_tile loc("q")
    tile.await %q_pipe[%c0] : !q_pipe
    scf.for %t = %begin to %end step %c1 : i32 {
      %n = arith.subi %t, %begin : i32 loc("n")
      %j0 = arith.muli %t, %c64 : i32 loc("j0")
      tile.await %k_pipe[%n] : !kv_pipe
      %k = tile.stage %k_pipe[%n] : !kv_pipe -> !q_tile
      tile.mma_fence
      tile.mma_start %s, %q, %k transposed fresh : !scores, !q_tile, !q_tile
      tile.mma_commit
      tile.mma_wait 0 for %s : !scores
      tile.release %k_pipe[%n] : !kv_pipe
      tile.map rows(%c0 as %i) cols(%j0 as %j) ins(%x = %s : !scores) outs(%s : !scores) {
        %inside = arith.cmpi slt, %j, %size_j : i32
        %y = arith.select %inside, %x, %minus_inf : f32
        tile.yield %y : f32
      }
      %top = tile.registers : !rows loc("top")
      tile.map rows(%c0 as %i) ins(%x = %m : !rows) outs(%top : !rows) {
        tile.yield %x : f32
      }
      tile.reduce_rows max %s into %top : !scores, !rows
      tile.reduce_quad max %top : !rows
      // Every tile has a key, so the new maximum is finite where scores are.
      %rescale = tile.registers : !rows loc("rescale")
      tile.map rows(%c0 as %i) ins(%x = %m : !rows, %y = %top : !rows, %sum = %l : !rows) outs(%rescale : !rows, %m : !rows, %l : !rows) {
        %d = arith.subf %x, %y : f32
        %ds = arith.mulf %d, %scale_log2 : f32
        %factor = math.exp2 %ds fastmath<afn> : f32
        %scaled = arith.mulf %sum, %factor : f32
        tile.yield %factor, %y, %scaled : f32, f32, f32
      }
      tile.map rows(%c0 as %i) cols(%j0 as %j) ins(%x = %s : !scores, %z = %m : !rows) outs(%s : !scores) {
        %zs = arith.mulf %z, %scale_log2 : f32
        %minus = arith.negf %zs : f32
        %e = math.fma %x, %scale_log2, %minus : f32
        %y = math.exp2 %e fastmath<afn> : f32
        tile.yield %y : f32
      }
      tile.reduce_rows add %s into %l : !scores, !rows
      tile.scale_rows %acc by %rescale : !scores, !rows
      tile.convert %s to %p : !scores -> !weights
      tile.await %v_pipe[%n] : !kv_pipe
      %v = tile.stage %v_pipe[%n] : !kv_pipe -> !q_tile
      tile.mma_fence
      tile.mma_start %acc, %p, %v : !scores, !weights, !q_tile
      tile.mma_commit
      tile.mma_wait 0 for %acc : !scores
      tile.release %v_pipe[%n] : !kv_pipe
    }
    tile.reduce_quad add %l : !rows

    // A warp's state: 1024 elements of the accumulator, 64 of each row vector.
    %warp = tile.warp
    %warp_in_role = arith.subi %warp, %c4 : i32 loc("warp_in_role")
    %warp_wide = arith.extsi %warp_in_role : i32 to i64
    %warp_part = arith.muli %warp_wide, %c1152_wide : i64 loc("warp_part")
    %block_wide = arith.extsi %block : i32 to i64
    %block_part = arith.muli %block_wide, %c4608_wide : i64
    %acc_at = arith.addi %block_part, %warp_part : i64 loc("acc_at")
    %m_at = arith.addi %acc_at, %c1024_wide : i64
    %l_at = arith.addi %acc_at, %c1088_wide : i64
    // CHECK: tile.save %{{.*}} to %{{.*}}[%{{.*}}] : !tile.fragment<16, 64>, <f32>
    tile.save %acc to %partial[%acc_at] : !scores, !tile.ptr<f32>
    tile.save %m to %partial[%m_at] : !rows, !tile.ptr<f32>
    tile.save %l to %partial[%l_at] : !rows, !tile.ptr<f32>
    %piece_wide = arith.extsi %piece : i32 to i64
    // CHECK: tile.last_block
    %last = tile.last_block %counter[%piece_wide] of %c4 barrier %c1 threads 128 : !tile.ptr<i32>
    scf.if %last {
      tile.map rows(%c0 as %i) ins() outs(%m : !rows) {
        tile.yield %minus_inf : f32
      }
      tile.map rows(%c0 as %i) ins() outs(%l : !rows) {
        tile.yield %f0 : f32
      }
      tile.map rows(%c0 as %i) cols(%c0 as %e) ins() outs(%acc : !scores) {
        tile.yield %f0 : f32
      }
      %m_part = tile.registers : !rows loc("m_part")
      %l_part = tile.registers : !rows loc("l_part")
      %own = tile.registers : !rows loc("own")
      %other = tile.registers : !rows loc("other")
      %first_block = arith.muli %piece, %c4 : i32
      scf.for %r = %c0 to %c4 step %c1 : i32 {
        %from_block = arith.addi %first_block, %r : i32
        %from_wide = arith.extsi %from_block : i32 to i64
        %from_part = arith.muli %from_wide, %c4608_wide : i64
        %from = arith.addi %from_part, %warp_part : i64 loc("from")
        %m_from = arith.addi %from, %c1024_wide : i64
        %l_from = arith.addi %from, %c1088_wide : i64
        // CHECK: tile.restore
        tile.restore %m_part from %partial[%m_from] : !rows, !tile.ptr<f32>
        tile.restore %l_part from %partial[%l_from] : !rows, !tile.ptr<f32>
        tile.restore %s from %partial[%from] : !scores, !tile.ptr<f32>
        tile.map rows(%c0 as %i) ins(%x = %m : !rows, %y = %m_part : !rows, %sum = %l : !rows, %part_sum = %l_part : !rows) outs(%own : !rows, %other : !rows, %m : !rows, %l : !rows) {
          %new = arith.maximumf %x, %y : f32 loc("new")
          %empty = arith.cmpf oeq, %new, %minus_inf : f32
          %reference = arith.select %empty, %f0, %new : f32 loc("reference")
          %dx = arith.subf %x, %reference : f32
          %dy = arith.subf %y, %reference : f32
          %xs = arith.mulf %dx, %scale_log2 : f32
          %ys = arith.mulf %dy, %scale_log2 : f32
          %fx = math.exp2 %xs fastmath<afn> : f32
          %fy = math.exp2 %ys fastmath<afn> : f32
          %lx = arith.mulf %sum, %fx : f32
          %both = math.fma %part_sum, %fy, %lx : f32
          tile.yield %fx, %fy, %new, %both : f32, f32, f32, f32
        }
        tile.map rows(%c0 as %i) cols(%c0 as %e) ins(%x = %acc : !scores, %y = %s : !scores, %f = %own : !rows, %g = %other : !rows) outs(%acc : !scores) {
          %xs = arith.mulf %x, %f : f32
          %z = math.fma %y, %g, %xs : f32
          tile.yield %z : f32
        }
      }
      tile.map rows(%c0 as %i) ins(%x = %l : !rows) outs(%l : !rows) {
        %empty = arith.cmpf oeq, %x, %f0 : f32
        %inverse = arith.divf %f1, %x : f32
        %y = arith.select %empty, %f0, %inverse : f32
        tile.yield %y : f32
      }
      tile.scale_rows %acc by %l : !scores, !rows
      %h_wide = arith.extsi %h : i32 to i64
      %b_wide = arith.extsi %b : i32 to i64
      %b_part = arith.muli %b_wide, %o_stride0 : i64
      %h_part = arith.muli %h_wide, %o_stride1 : i64
      %offset = arith.addi %b_part, %h_part : i64
      %warp_row = arith.muli %warp_in_role, %c16 : i32
      %i_begin = arith.addi %i0, %warp_row : i32
      tile.store_fragment_rows %acc from %i_begin to %size_i, %o_out[%offset] stride %o_stride2 : !scores -> !tile.ptr<bf16>
    }
  }
}
