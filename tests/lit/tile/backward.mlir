// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// The backward of attention at 128 columns, by hand: a block owns 128 keys and streams the queries. Two
// groups own 64 keys each: they compute the transposed scores, so that the weights and their
// derivatives are in registers as first factors of the products for dv and dk. The derivatives of the
// scores also pass through shared memory to a third group, which multiplies them by the keys and adds
// the result to dq in global memory by bulk copies. lse is the logarithm of the sums in base 2, delta
// the sum of o do for each query.

!keys = !tile.shared<128, 128, bf16, panels 128>
!key_strip = !tile.shared<64, 128, bf16, panels 128>
!key_half = !tile.shared<128, 64, bf16, panels 128>
!queries = !tile.shared<64, 128, bf16, panels 64>
!ds_tile = !tile.shared<128, 64, bf16, panels 128>
!ds_strip = !tile.shared<16, 64, bf16, panels 128>
!vector = !tile.shared<1, 64, f32>
!dq_row = !tile.shared<1, 1024, f32>
!key_pipe = !tile.pipe<1, <128, 128, bf16, panels 128>>
!q_pipe = !tile.pipe<3, <64, 128, bf16, panels 64>>
!do_pipe = !tile.pipe<2, <64, 128, bf16, panels 64>>
!lse_pipe = !tile.pipe<3, <1, 64, f32>>
!delta_pipe = !tile.pipe<2, <1, 64, f32>>
!ds_pipe = !tile.pipe<2, <128, 64, bf16, panels 128>>
!key_map = !tile.tensor_map<[64, 128, 1, 1], bf16>
!query_map = !tile.tensor_map<[64, 64, 1, 1], bf16>
!scores = !tile.fragment<16, 64>
!result = !tile.fragment<16, 128>
!weights = !tile.operand<16, 64, bf16>
!columns = !tile.columns<64>

tile.kernel @backward("q_map" = %q_map: !query_map, "k_map" = %k_map: !key_map, "v_map" = %v_map: !key_map, "do_map" = %do_map: !query_map, "lse" = %lse: !tile.ptr<f32>, "delta" = %delta: !tile.ptr<f32>, "dq" = %dq_out: !tile.ptr<f32>, "dk" = %dk_out: !tile.ptr<bf16>, "dv" = %dv_out: !tile.ptr<bf16>, "stride0" = %stride0: i64, "stride1" = %stride1: i64, "stride2" = %stride2: i64, "vector_stride" = %vector_stride: i64, "size_h" = %size_h: i32, "size_i" = %size_i: i32, "size_j" = %size_j: i32, "scale" = %scale: f32) grid [["mul", ["ceildiv", ["size", "j"], 128], ["mul", ["size", "b"], ["size", "h"]]]] threads 512 smem 214784 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c12 = arith.constant 12 : i32
  %c16 = arith.constant 16 : i32
  %c63 = arith.constant 63 : i32
  %c64 = arith.constant 64 : i32
  %c127 = arith.constant 127 : i32
  %c128 = arith.constant 128 : i32
  %log2e = arith.constant 1.4426950408889634 : f32
  %c1024_wide = arith.constant 1024 : i64
  %c4096_wide = arith.constant 4096 : i64
  %c8192_wide = arith.constant 8192 : i64

  %i_up = arith.addi %size_i, %c63 : i32
  %i_tiles = arith.divsi %i_up, %c64 : i32 loc("i_tiles")

  %k_pipe = tile.pipe at 0 barriers 214272 users 8 : !key_pipe loc("k_pipe")
  %v_pipe = tile.pipe at 32768 barriers 214288 users 8 : !key_pipe loc("v_pipe")
  %q_pipe = tile.pipe at 65536 barriers 214304 users 8 : !q_pipe loc("q_pipe")
  %do_pipe = tile.pipe at 114688 barriers 214352 users 8 : !do_pipe loc("do_pipe")
  %ds_pipe = tile.pipe at 147456 barriers 214384 users 4 writers 8 : !ds_pipe loc("ds_pipe")
  %lse_pipe = tile.pipe at 212992 barriers 214416 users 8 : !lse_pipe loc("lse_pipe")
  %delta_pipe = tile.pipe at 213760 barriers 214464 users 8 : !delta_pipe loc("delta_pipe")
  tile.start_pipes %k_pipe, %v_pipe, %q_pipe, %do_pipe, %ds_pipe, %lse_pipe, %delta_pipe : !key_pipe, !key_pipe, !q_pipe, !do_pipe, !ds_pipe, !lse_pipe, !delta_pipe

  tile.role "load" warps 0 count 4 registers 24 {
    tile.single {
      %block = tile.block
      %j_up = arith.addi %size_j, %c127 : i32
      %j_tiles = arith.divsi %j_up, %c128 : i32 loc("j_tiles")
      %j_tile = arith.remsi %block, %j_tiles : i32
      %cell = arith.divsi %block, %j_tiles : i32 loc("cell")
      %j0 = arith.muli %j_tile, %c128 : i32 loc("j0")
      %h = arith.remsi %cell, %size_h : i32 loc("h")
      %b = arith.divsi %cell, %size_h : i32 loc("b")
      %cell_wide = arith.extsi %cell : i32 to i64
      %vectors = arith.muli %cell_wide, %vector_stride : i64 loc("vectors")
      tile.acquire %k_pipe[%c0] : !key_pipe
      tile.fill %k_pipe[%c0] from %k_map(%j0, %h, %b) : !key_pipe, !key_map
      tile.acquire %v_pipe[%c0] : !key_pipe
      tile.fill %v_pipe[%c0] from %v_map(%j0, %h, %b) : !key_pipe, !key_map
      scf.for %n = %c0 to %i_tiles step %c1 : i32 {
        %i0 = arith.muli %n, %c64 : i32 loc("i0")
        %i0_wide = arith.extsi %i0 : i32 to i64
        %at = arith.addi %vectors, %i0_wide : i64 loc("at")
        tile.acquire %q_pipe[%n] : !q_pipe
        tile.fill %q_pipe[%n] from %q_map(%i0, %h, %b) : !q_pipe, !query_map
        tile.acquire %lse_pipe[%n] : !lse_pipe
        // CHECK: tile.fill_row
        tile.fill_row %lse_pipe[%n] from %lse[%at] : !lse_pipe, !tile.ptr<f32>
        tile.acquire %do_pipe[%n] : !do_pipe
        tile.fill %do_pipe[%n] from %do_map(%i0, %h, %b) : !do_pipe, !query_map
        tile.acquire %delta_pipe[%n] : !delta_pipe
        tile.fill_row %delta_pipe[%n] from %delta[%at] : !delta_pipe, !tile.ptr<f32>
      }
    }
  }
  tile.role "keys" warps 4 count 8 registers 208 {
    %group = tile.group loc("group")
    %scale_log2 = arith.mulf %scale, %log2e : f32 loc("scale_log2")
    %group_row = arith.muli %group, %c64 : i32 loc("group_row")
    %dk = tile.registers all 0.0 : !result loc("dk")
    %dv = tile.registers all 0.0 : !result loc("dv")
    %s = tile.registers : !scores loc("s")
    %dp = tile.registers : !scores loc("dp")
    %p = tile.registers : !weights loc("p")
    %ds = tile.registers : !weights loc("ds")
    %k_tile = tile.stage %k_pipe[%c0] : !key_pipe -> !keys
    %v_tile = tile.stage %v_pipe[%c0] : !key_pipe -> !keys
    %k_strip = tile.strip %k_tile[%group_row] : !keys -> !key_strip loc("k_strip")
    %v_strip = tile.strip %v_tile[%group_row] : !keys -> !key_strip loc("v_strip")

    // The scores of the first tile; then each step computes those of the next.
    tile.await %k_pipe[%c0] : !key_pipe
    tile.await %q_pipe[%c0] : !q_pipe
    %q_first = tile.stage %q_pipe[%c0] : !q_pipe -> !queries
    tile.mma_fence
    tile.mma_start %s, %k_strip, %q_first transposed fresh : !scores, !key_strip, !queries
    tile.mma_commit
    tile.mma_wait 0 for %s : !scores
    tile.await %v_pipe[%c0] : !key_pipe
    %last = arith.subi %i_tiles, %c1 : i32 loc("last")
    scf.for %n = %c0 to %last step %c1 : i32 {
      %i0 = arith.muli %n, %c64 : i32 loc("i0")
      %lse_tile = tile.stage %lse_pipe[%n] : !lse_pipe -> !vector
      %lse_columns = tile.registers : !columns loc("lse_columns")
      tile.await %lse_pipe[%n] : !lse_pipe
      // CHECK: tile.read_vector
      tile.read_vector %lse_columns from %lse_tile[%c0] : !columns, !vector
      // Queries beyond the extent are zero, and so are lse and do: their weights are finite and meet zeros.
      tile.map rows(%c0 as %j) cols(%i0 as %i) ins(%x = %s : !scores, %z = %lse_columns : !columns) outs(%s : !scores) {
        %minus = arith.negf %z : f32
        %e = math.fma %x, %scale_log2, %minus : f32
        %y = math.exp2 %e fastmath<afn> : f32
        tile.yield %y : f32
      }
      tile.convert %s to %p : !scores -> !weights
      tile.release %lse_pipe[%n] : !lse_pipe
      tile.await %do_pipe[%n] : !do_pipe
      %do_tile = tile.stage %do_pipe[%n] : !do_pipe -> !queries loc("do_tile")
      tile.mma_fence
      tile.mma_start %dp, %v_strip, %do_tile transposed fresh : !scores, !key_strip, !queries
      tile.mma_commit
      tile.mma_fence
      tile.mma_start %dv, %p, %do_tile : !result, !weights, !queries
      tile.mma_commit
      %delta_tile = tile.stage %delta_pipe[%n] : !delta_pipe -> !vector
      %delta_columns = tile.registers : !columns loc("delta_columns")
      tile.await %delta_pipe[%n] : !delta_pipe
      tile.mma_wait 1 for %dp : !scores
      tile.read_vector %delta_columns from %delta_tile[%c0] : !columns, !vector
      tile.map rows(%c0 as %j) cols(%i0 as %i) ins(%x = %p : !weights, %y = %dp : !scores, %z = %delta_columns : !columns) outs(%dp : !scores) {
        %d = arith.subf %y, %z : f32
        %r = arith.mulf %x, %d : f32
        tile.yield %r : f32
      }
      tile.convert %dp to %ds : !scores -> !weights
      tile.release %delta_pipe[%n] : !delta_pipe
      tile.acquire %ds_pipe[%n] : !ds_pipe
      %ds_tile = tile.stage %ds_pipe[%n] : !ds_pipe -> !ds_tile
      // Read anew, so that it takes no register elsewhere.
      %warp = tile.warp
      %warp_in_role = arith.subi %warp, %c4 : i32
      %warp_row = arith.muli %warp_in_role, %c16 : i32
      %ds_strip = tile.strip %ds_tile[%warp_row] : !ds_tile -> !ds_strip
      tile.store_operand %ds to %ds_strip : !weights, !ds_strip
      tile.publish
      tile.complete %ds_pipe[%n] : !ds_pipe
      %q_tile = tile.stage %q_pipe[%n] : !q_pipe -> !queries
      tile.mma_fence
      tile.mma_start %dk, %ds, %q_tile : !result, !weights, !queries
      tile.mma_commit
      tile.mma_wait 1 for %dv : !result
      tile.release %do_pipe[%n] : !do_pipe
      %next = arith.addi %n, %c1 : i32 loc("next")
      tile.await %q_pipe[%next] : !q_pipe
      %q_next = tile.stage %q_pipe[%next] : !q_pipe -> !queries
      tile.mma_fence
      tile.mma_start %s, %k_strip, %q_next transposed fresh : !scores, !key_strip, !queries
      tile.mma_commit
      tile.mma_wait 1 for %dk : !result
      tile.release %q_pipe[%n] : !q_pipe
      tile.mma_wait 0 for %s : !scores
    }
    %i0_last = arith.muli %last, %c64 : i32 loc("i0")
    %lse_tile_last = tile.stage %lse_pipe[%last] : !lse_pipe -> !vector
    %lse_columns_last = tile.registers : !columns loc("lse_columns")
    tile.await %lse_pipe[%last] : !lse_pipe
    // CHECK: tile.read_vector
    tile.read_vector %lse_columns_last from %lse_tile_last[%c0] : !columns, !vector
    // Queries beyond the extent are zero, and so are lse and do: their weights are finite and meet zeros.
    tile.map rows(%c0 as %j) cols(%i0_last as %i) ins(%x = %s : !scores, %z = %lse_columns_last : !columns) outs(%s : !scores) {
      %minus = arith.negf %z : f32
      %e = math.fma %x, %scale_log2, %minus : f32
      %y = math.exp2 %e fastmath<afn> : f32
      tile.yield %y : f32
    }
    tile.convert %s to %p : !scores -> !weights
    tile.release %lse_pipe[%last] : !lse_pipe
    tile.await %do_pipe[%last] : !do_pipe
    %do_tile_last = tile.stage %do_pipe[%last] : !do_pipe -> !queries loc("do_tile")
    tile.mma_fence
    tile.mma_start %dp, %v_strip, %do_tile_last transposed fresh : !scores, !key_strip, !queries
    tile.mma_commit
    tile.mma_fence
    tile.mma_start %dv, %p, %do_tile_last : !result, !weights, !queries
    tile.mma_commit
    %delta_tile_last = tile.stage %delta_pipe[%last] : !delta_pipe -> !vector
    %delta_columns_last = tile.registers : !columns loc("delta_columns")
    tile.await %delta_pipe[%last] : !delta_pipe
    tile.mma_wait 1 for %dp : !scores
    tile.read_vector %delta_columns_last from %delta_tile_last[%c0] : !columns, !vector
    tile.map rows(%c0 as %j) cols(%i0_last as %i) ins(%x = %p : !weights, %y = %dp : !scores, %z = %delta_columns_last : !columns) outs(%dp : !scores) {
      %d = arith.subf %y, %z : f32
      %r = arith.mulf %x, %d : f32
      tile.yield %r : f32
    }
    tile.convert %dp to %ds : !scores -> !weights
    tile.release %delta_pipe[%last] : !delta_pipe
    tile.acquire %ds_pipe[%last] : !ds_pipe
    %ds_tile_last = tile.stage %ds_pipe[%last] : !ds_pipe -> !ds_tile
    // Read anew, so that it takes no register elsewhere.
    %warp_last = tile.warp
    %warp_in_role_last = arith.subi %warp_last, %c4 : i32
    %warp_row_last = arith.muli %warp_in_role_last, %c16 : i32
    %ds_strip_last = tile.strip %ds_tile_last[%warp_row_last] : !ds_tile -> !ds_strip
    tile.store_operand %ds to %ds_strip_last : !weights, !ds_strip
    tile.publish
    tile.complete %ds_pipe[%last] : !ds_pipe
    %q_tile_last = tile.stage %q_pipe[%last] : !q_pipe -> !queries
    tile.mma_fence
    tile.mma_start %dk, %ds, %q_tile_last : !result, !weights, !queries
    tile.mma_commit
    tile.mma_wait 1 for %dv : !result
    tile.release %do_pipe[%last] : !do_pipe
    tile.mma_wait 0 for %dk : !result
    tile.release %q_pipe[%last] : !q_pipe
    %block = tile.block
    %j_up = arith.addi %size_j, %c127 : i32
    %j_tiles = arith.divsi %j_up, %c128 : i32 loc("j_tiles")
    %j_tile = arith.remsi %block, %j_tiles : i32
    %cell = arith.divsi %block, %j_tiles : i32 loc("cell")
    %j0 = arith.muli %j_tile, %c128 : i32
    %h = arith.remsi %cell, %size_h : i32
    %b = arith.divsi %cell, %size_h : i32
    %h_wide = arith.extsi %h : i32 to i64
    %b_wide = arith.extsi %b : i32 to i64
    %b_part = arith.muli %b_wide, %stride0 : i64
    %h_part = arith.muli %h_wide, %stride1 : i64
    %offset = arith.addi %b_part, %h_part : i64 loc("offset")
    %end_warp = tile.warp
    %end_warp_in_role = arith.subi %end_warp, %c4 : i32
    %end_row = arith.muli %end_warp_in_role, %c16 : i32
    %j_begin = arith.addi %j0, %end_row : i32 loc("j_begin")
    tile.store_fragment_rows %dv from %j_begin to %size_j, %dv_out[%offset] stride %stride2 : !result -> !tile.ptr<bf16>
    tile.map rows(%c0 as %j) cols(%c0 as %d) ins(%x = %dk : !result) outs(%dk : !result) {
      %y = arith.mulf %x, %scale : f32
      tile.yield %y : f32
    }
    tile.store_fragment_rows %dk from %j_begin to %size_j, %dk_out[%offset] stride %stride2 : !result -> !tile.ptr<bf16>
  }
  tile.role "queries" warps 12 count 4 registers 72 {
    %warp = tile.warp
    %warp_in_role = arith.subi %warp, %c12 : i32
    %block = tile.block
    %j_up = arith.addi %size_j, %c127 : i32
    %j_tiles = arith.divsi %j_up, %c128 : i32 loc("j_tiles")
    %cell = arith.divsi %block, %j_tiles : i32
    %cell_wide = arith.extsi %cell : i32 to i64
    %tiles_wide = arith.extsi %i_tiles : i32 to i64
    %first_tile = arith.muli %cell_wide, %tiles_wide : i64
    %first_element = arith.muli %first_tile, %c8192_wide : i64
    %warp_wide = arith.extsi %warp_in_role : i32 to i64
    %warp_part = arith.muli %warp_wide, %c1024_wide : i64
    %dq_base = arith.addi %first_element, %warp_part : i64 loc("dq_base")
    %dq = tile.registers : !scores loc("dq")
    %k_tile = tile.stage %k_pipe[%c0] : !key_pipe -> !keys
    %k_low = tile.columns %k_tile[%c0] : !keys -> !key_half
    %k_high = tile.columns %k_tile[%c64] : !keys -> !key_half
    %staging00 = tile.shared at 180224 : !dq_row
    %staging01 = tile.shared at 196608 : !dq_row
    %staging10 = tile.shared at 184320 : !dq_row
    %staging11 = tile.shared at 200704 : !dq_row
    %staging20 = tile.shared at 188416 : !dq_row
    %staging21 = tile.shared at 204800 : !dq_row
    %staging30 = tile.shared at 192512 : !dq_row
    %staging31 = tile.shared at 208896 : !dq_row
    %staging_low = tile.choose %warp_in_role of (%staging00, %staging10, %staging20, %staging30) : !dq_row, !dq_row, !dq_row, !dq_row -> !dq_row loc("staging_low")
    %staging_high = tile.choose %warp_in_role of (%staging01, %staging11, %staging21, %staging31) : !dq_row, !dq_row, !dq_row, !dq_row -> !dq_row loc("staging_high")
    tile.await %k_pipe[%c0] : !key_pipe
    scf.for %n = %c0 to %i_tiles step %c1 : i32 {
      tile.await %ds_pipe[%n] : !ds_pipe
      %ds_tile = tile.stage %ds_pipe[%n] : !ds_pipe -> !ds_tile loc("ds_tile")
      tile.mma_fence
      // CHECK: tile.mma_start %{{.*}}, %{{.*}}, %{{.*}} fresh a_transposed
      tile.mma_start %dq, %ds_tile, %k_low fresh a_transposed : !scores, !ds_tile, !key_half
      tile.mma_commit
      tile.mma_wait 0 for %dq : !scores
      // The last tile's copies have read what is written now.
      tile.single each_warp {
        tile.store_wait 0 read
      }
      tile.warp_sync
      tile.store_lanes %dq to %staging_low : !scores, !dq_row
      tile.mma_fence
      tile.mma_start %dq, %ds_tile, %k_high fresh a_transposed : !scores, !ds_tile, !key_half
      tile.mma_commit
      tile.mma_wait 0 for %dq : !scores
      tile.release %ds_pipe[%n] : !ds_pipe
      tile.store_lanes %dq to %staging_high : !scores, !dq_row
      tile.publish
      tile.single each_warp {
        %n_wide = arith.extsi %n : i32 to i64
        %tile_part = arith.muli %n_wide, %c8192_wide : i64
        %low = arith.addi %dq_base, %tile_part : i64 loc("low")
        %high = arith.addi %low, %c4096_wide : i64
        // CHECK: tile.add_bulk
        tile.add_bulk %staging_low to %dq_out[%low] : !dq_row -> !tile.ptr<f32>
        tile.add_bulk %staging_high to %dq_out[%high] : !dq_row -> !tile.ptr<f32>
        tile.store_commit
      }
    }
    // Shared memory stays until the copies have read it.
    tile.single each_warp {
      tile.store_wait 0
    }
  }
}

// dq from the order of lanes to rows, scaled: the tile of 64 queries has two halves of the columns, each
// with the fragments of four warps.
tile.kernel @backward_queries("dq_sums" = %sums: !tile.ptr<f32>, "dq" = %dq_out: !tile.ptr<bf16>, "stride0" = %stride0: i64, "stride1" = %stride1: i64, "stride2" = %stride2: i64, "size_h" = %size_h: i32, "size_i" = %size_i: i32, "scale" = %scale: f32) grid [["mul", ["ceildiv", ["size", "i"], 64], ["mul", ["size", "b"], ["size", "h"]]]] threads 128 smem 0 {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %c63 = arith.constant 63 : i32
  %c64 = arith.constant 64 : i32
  %c64_wide = arith.constant 64 : i64
  %c1024_wide = arith.constant 1024 : i64
  %c4096_wide = arith.constant 4096 : i64
  %c8192_wide = arith.constant 8192 : i64
  %i_up = arith.addi %size_i, %c63 : i32
  %i_tiles = arith.divsi %i_up, %c64 : i32 loc("i_tiles")
  %block = tile.block
  %cell = arith.divsi %block, %i_tiles : i32 loc("cell")
  %i_tile = arith.remsi %block, %i_tiles : i32
  %i0 = arith.muli %i_tile, %c64 : i32
  %warp = tile.warp
  %warp_row = arith.muli %warp, %c16 : i32
  %i_begin = arith.addi %i0, %warp_row : i32 loc("i_begin")
  %h = arith.remsi %cell, %size_h : i32
  %b = arith.divsi %cell, %size_h : i32
  %h_wide = arith.extsi %h : i32 to i64
  %b_wide = arith.extsi %b : i32 to i64
  %b_part = arith.muli %b_wide, %stride0 : i64
  %h_part = arith.muli %h_wide, %stride1 : i64
  %offset = arith.addi %b_part, %h_part : i64 loc("offset")
  %high_offset = arith.addi %offset, %c64_wide : i64
  %block_wide = arith.extsi %block : i32 to i64
  %warp_wide = arith.extsi %warp : i32 to i64
  %tile_part = arith.muli %block_wide, %c8192_wide : i64
  %warp_part = arith.muli %warp_wide, %c1024_wide : i64
  %low = arith.addi %tile_part, %warp_part : i64 loc("low")
  %high = arith.addi %low, %c4096_wide : i64
  %x = tile.registers : !scores loc("x")
  // CHECK: tile.restore
  tile.restore %x from %sums[%low] : !scores, !tile.ptr<f32>
  tile.map rows(%i_begin as %i) cols(%c0 as %d) ins(%e = %x : !scores) outs(%x : !scores) {
    %y = arith.mulf %e, %scale : f32
    tile.yield %y : f32
  }
  tile.store_fragment_rows %x from %i_begin to %size_i, %dq_out[%offset] stride %stride2 : !scores -> !tile.ptr<bf16>
  tile.restore %x from %sums[%high] : !scores, !tile.ptr<f32>
  tile.map rows(%i_begin as %i) cols(%c64 as %d) ins(%e = %x : !scores) outs(%x : !scores) {
    %y = arith.mulf %e, %scale : f32
    tile.yield %y : f32
  }
  tile.store_fragment_rows %x from %i_begin to %size_i, %dq_out[%high_offset] stride %stride2 : !scores -> !tile.ptr<bf16>
}
