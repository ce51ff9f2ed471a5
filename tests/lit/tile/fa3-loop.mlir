// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// Attention at 128 columns, by hand: one warpgroup starts all copies; three compute 64 rows each.
// The scores of the next tile are under way while this tile's are exponentiated, and the groups start
// their products one after the other.
tile.kernel @fa3_loop("q_map" = %q_map: !tile.tensor_map<[64, 192, 1, 1], bf16>, "k_map" = %k_map: !tile.tensor_map<[64, 80, 1, 1], bf16>, "v_map" = %v_map: !tile.tensor_map<[64, 80, 1, 1], bf16>, "o" = %o_out: !tile.ptr<bf16>, "o_stride0" = %o_stride0: i64, "o_stride1" = %o_stride1: i64, "o_stride2" = %o_stride2: i64, "size_b" = %size_b: i32, "size_h" = %size_h: i32, "size_i" = %size_i: i32, "size_j" = %size_j: i32, "scale" = %scale: f32) grid [["min", ["mul", ["ceildiv", ["size", "i"], 192], ["mul", ["size", "b"], ["size", "h"]]], ["multiprocessors"]]] threads 512 smem 172144 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %c79 = arith.constant 79 : i32
  %c80 = arith.constant 80 : i32
  %c191 = arith.constant 191 : i32
  %c192 = arith.constant 192 : i32
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %slack = arith.constant 8.0 : f32
  %minus_inf = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.4426950408889634 : f32

  %i_up = arith.addi %size_i, %c191 : i32
  %i_tiles = arith.divsi %i_up, %c192 : i32 loc("i_tiles")
  %cells = arith.muli %size_h, %size_b : i32
  %tiles = arith.muli %i_tiles, %cells : i32 loc("tiles")
  %j_up = arith.addi %size_j, %c79 : i32
  %end_tile = arith.divsi %j_up, %c80 : i32 loc("end_tile")
  %last = arith.subi %end_tile, %c1 : i32

  // CHECK: tile.pipe at 0 barriers 172032 users 12 : <1, <192, 128, bf16, panels 192>>
  %q_pipe = tile.pipe at 0 barriers 172032 users 12 : <1, <192, 128, bf16, panels 192>> loc("q_pipe")
  // CHECK: tile.pipe at 49152 barriers 172048 users 12 : <3, <80, 128, bf16, panels 80>>
  %k_pipe = tile.pipe at 49152 barriers 172048 users 12 : <3, <80, 128, bf16, panels 80>> loc("k_pipe")
  %v_pipe = tile.pipe at 110592 barriers 172096 users 12 : <3, <80, 128, bf16, panels 80>> loc("v_pipe")
  // CHECK: tile.start_pipes
  tile.start_pipes %q_pipe, %k_pipe, %v_pipe : !tile.pipe<1, <192, 128, bf16, panels 192>>, !tile.pipe<3, <80, 128, bf16, panels 80>>, !tile.pipe<3, <80, 128, bf16, panels 80>>

  // CHECK: tile.role "load" warps 0 count 4 registers 32
  tile.role "load" warps 0 count 4 registers 32 {
    // CHECK-NEXT: tile.single {
    tile.single {
      %first = tile.block
      %grid = tile.grid_size
      %n_end, %q_end = scf.for %tile = %first to %tiles step %grid iter_args(%n0 = %c0, %q_n = %c0) -> (i32, i32) : i32 {
        %cell = arith.divsi %tile, %i_tiles : i32 loc("cell")
        %i_tile = arith.remsi %tile, %i_tiles : i32
        %i0 = arith.muli %i_tile, %c192 : i32 loc("i0")
        %h = arith.remsi %cell, %size_h : i32 loc("h")
        %b = arith.divsi %cell, %size_h : i32 loc("b")
        // CHECK: tile.acquire %{{.*}}[%{{.*}}]
        tile.acquire %k_pipe[%n0] : !tile.pipe<3, <80, 128, bf16, panels 80>>
        // CHECK-NEXT: tile.fill %{{.*}}[%{{.*}}] from %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : <3, <80, 128, bf16, panels 80>>, <[64, 80, 1, 1], bf16>
        tile.fill %k_pipe[%n0] from %k_map(%c0, %h, %b) : !tile.pipe<3, <80, 128, bf16, panels 80>>, !tile.tensor_map<[64, 80, 1, 1], bf16>
        tile.acquire %q_pipe[%q_n] : !tile.pipe<1, <192, 128, bf16, panels 192>>
        tile.fill %q_pipe[%q_n] from %q_map(%i0, %h, %b) : !tile.pipe<1, <192, 128, bf16, panels 192>>, !tile.tensor_map<[64, 192, 1, 1], bf16>
        %n_last = scf.for %t = %c1 to %end_tile step %c1 iter_args(%n = %n0) -> (i32) : i32 {
          %next = arith.addi %n, %c1 : i32 loc("next")
          %j0 = arith.muli %t, %c80 : i32 loc("j0")
          tile.acquire %k_pipe[%next] : !tile.pipe<3, <80, 128, bf16, panels 80>>
          tile.fill %k_pipe[%next] from %k_map(%j0, %h, %b) : !tile.pipe<3, <80, 128, bf16, panels 80>>, !tile.tensor_map<[64, 80, 1, 1], bf16>
          %j_before = arith.subi %j0, %c80 : i32
          tile.acquire %v_pipe[%n] : !tile.pipe<3, <80, 128, bf16, panels 80>>
          tile.fill %v_pipe[%n] from %v_map(%j_before, %h, %b) : !tile.pipe<3, <80, 128, bf16, panels 80>>, !tile.tensor_map<[64, 80, 1, 1], bf16>
          scf.yield %next : i32
        } loc("n")
        %j_last = arith.muli %last, %c80 : i32
        tile.acquire %v_pipe[%n_last] : !tile.pipe<3, <80, 128, bf16, panels 80>>
        tile.fill %v_pipe[%n_last] from %v_map(%j_last, %h, %b) : !tile.pipe<3, <80, 128, bf16, panels 80>>, !tile.tensor_map<[64, 80, 1, 1], bf16>
        %n_next = arith.addi %n_last, %c1 : i32
        %q_next = arith.addi %q_n, %c1 : i32
        scf.yield %n_next, %q_next : i32, i32
      }
    }
  }
  // CHECK: tile.role "compute" warps 4 count 12 registers 160
  tile.role "compute" warps 4 count 12 registers 160 {
    // CHECK-NEXT: tile.group
    %group = tile.group
    %own = arith.addi %group, %c1 : i32 loc("own")
    %after = arith.addi %group, %c2 : i32
    %is_last = arith.cmpi eq, %own, %c3 : i32
    %other = arith.select %is_last, %c1, %after : i32 loc("other")
    %scale_log2 = arith.mulf %scale, %log2e : f32 loc("scale_log2")
    %q_tile = tile.stage %q_pipe[%c0] : !tile.pipe<1, <192, 128, bf16, panels 192>> -> !tile.shared<192, 128, bf16, panels 192>
    %row_group = arith.muli %group, %c64 : i32
    // CHECK: tile.strip %{{.*}}[%{{.*}}] : <192, 128, bf16, panels 192> -> <64, 128, bf16, panels 192>
    %q_strip = tile.strip %q_tile[%row_group] : !tile.shared<192, 128, bf16, panels 192> -> !tile.shared<64, 128, bf16, panels 192>
    %is_first = arith.cmpi eq, %group, %c0 : i32
    scf.if %is_first {
      // CHECK: tile.barrier_arrive %{{.*}} threads 256
      tile.barrier_arrive %c1 threads 256
    }
    %first = tile.block
    %grid = tile.grid_size
    %n_end, %q_end = scf.for %tile = %first to %tiles step %grid iter_args(%n0 = %c0, %q_n = %c0) -> (i32, i32) : i32 {
      %cell = arith.divsi %tile, %i_tiles : i32 loc("cell")
      %i_tile = arith.remsi %tile, %i_tiles : i32
      %i0 = arith.muli %i_tile, %c192 : i32 loc("i0")
      %m = tile.registers all 0xFF800000 : !tile.rows<16> loc("m")
      %l = tile.registers all 0.0 : !tile.rows<16> loc("l")
      %o = tile.registers all 0.0 : !tile.fragment<16, 128> loc("acc")
      %s = tile.registers : !tile.fragment<16, 80> loc("s")
      // CHECK: %[[P:.*]] = tile.registers : !tile.operand<16, 80, bf16>
      %p = tile.registers : !tile.operand<16, 80, bf16> loc("p")

      // The first tile: its maximum is the reference.
      tile.await %q_pipe[%q_n] : !tile.pipe<1, <192, 128, bf16, panels 192>>
      tile.await %k_pipe[%n0] : !tile.pipe<3, <80, 128, bf16, panels 80>>
      // CHECK: tile.mma_fence
      tile.mma_fence
      %k0 = tile.stage %k_pipe[%n0] : !tile.pipe<3, <80, 128, bf16, panels 80>> -> !tile.shared<80, 128, bf16, panels 80>
      // CHECK: tile.mma_start %{{.*}}, %{{.*}}, %{{.*}} transposed fresh : <16, 80>, !tile.shared<64, 128, bf16, panels 192>, <80, 128, bf16, panels 80>
      tile.mma_start %s, %q_strip, %k0 transposed fresh : !tile.fragment<16, 80>, !tile.shared<64, 128, bf16, panels 192>, !tile.shared<80, 128, bf16, panels 80>
      // CHECK-NEXT: tile.mma_commit
      tile.mma_commit
      // CHECK-NEXT: tile.mma_wait 0 for %{{.*}} : !tile.fragment<16, 80>
      tile.mma_wait 0 for %s : !tile.fragment<16, 80>
      // CHECK-NEXT: tile.release
      tile.release %k_pipe[%n0] : !tile.pipe<3, <80, 128, bf16, panels 80>>
      %first_full = arith.cmpi sle, %c80, %size_j : i32
      scf.if %first_full {
      } else {
        tile.map rows(%c0 as %i) cols(%c0 as %j) ins(%x = %s : !tile.fragment<16, 80>) outs(%s : !tile.fragment<16, 80>) {
          %inside = arith.cmpi slt, %j, %size_j : i32
          %y = arith.select %inside, %x, %minus_inf : f32
          tile.yield %y : f32
        }
      }
      tile.reduce_rows max %s into %m : !tile.fragment<16, 80>, !tile.rows<16>
      tile.reduce_quad max %m : !tile.rows<16>
      %shift0 = tile.registers : !tile.rows<16> loc("shift")
      tile.map rows(%c0 as %i) ins(%x = %m : !tile.rows<16>) outs(%shift0 : !tile.rows<16>) {
        %empty = arith.cmpf oeq, %x, %minus_inf : f32
        %z = arith.select %empty, %f0, %x : f32
        %y = arith.mulf %z, %scale_log2 : f32
        tile.yield %y : f32
      }
      tile.map rows(%c0 as %i) cols(%c0 as %j) ins(%x = %s : !tile.fragment<16, 80>, %z = %shift0 : !tile.rows<16>) outs(%s : !tile.fragment<16, 80>) {
        %minus = arith.negf %z : f32
        %e = math.fma %x, %scale_log2, %minus : f32
        %y = math.exp2 %e fastmath<afn> : f32
        tile.yield %y : f32
      }
      tile.reduce_rows add %s into %l : !tile.fragment<16, 80>, !tile.rows<16>
      // CHECK: tile.convert %{{.*}} to %[[P]] : <16, 80> -> <16, 80, bf16>
      tile.convert %s to %p : !tile.fragment<16, 80> -> !tile.operand<16, 80, bf16>

      %n_last = scf.for %t = %c1 to %end_tile step %c1 iter_args(%n = %n0) -> (i32) : i32 {
        %next = arith.addi %n, %c1 : i32 loc("next")
        %j0 = arith.muli %t, %c80 : i32 loc("j0")
        tile.await %k_pipe[%next] : !tile.pipe<3, <80, 128, bf16, panels 80>>
        // CHECK: tile.barrier_sync %{{.*}} threads 256
        tile.barrier_sync %own threads 256
        tile.mma_fence
        %k = tile.stage %k_pipe[%next] : !tile.pipe<3, <80, 128, bf16, panels 80>> -> !tile.shared<80, 128, bf16, panels 80>
        tile.mma_start %s, %q_strip, %k transposed fresh : !tile.fragment<16, 80>, !tile.shared<64, 128, bf16, panels 192>, !tile.shared<80, 128, bf16, panels 80>
        tile.mma_commit
        tile.await %v_pipe[%n] : !tile.pipe<3, <80, 128, bf16, panels 80>>
        tile.mma_fence
        %v = tile.stage %v_pipe[%n] : !tile.pipe<3, <80, 128, bf16, panels 80>> -> !tile.shared<80, 128, bf16, panels 80>
        // CHECK: tile.mma_start %{{.*}}, %[[P]], %{{.*}} : <16, 128>, !tile.operand<16, 80, bf16>, <80, 128, bf16, panels 80>
        tile.mma_start %o, %p, %v : !tile.fragment<16, 128>, !tile.operand<16, 80, bf16>, !tile.shared<80, 128, bf16, panels 80>
        tile.mma_commit
        tile.barrier_arrive %other threads 256
        tile.mma_wait 1 for %s : !tile.fragment<16, 80>
        tile.release %k_pipe[%next] : !tile.pipe<3, <80, 128, bf16, panels 80>>
        %j_end = arith.addi %j0, %c80 : i32
        %full = arith.cmpi sle, %j_end, %size_j : i32
        scf.if %full {
        } else {
          tile.map rows(%c0 as %i) cols(%j0 as %j) ins(%x = %s : !tile.fragment<16, 80>) outs(%s : !tile.fragment<16, 80>) {
            %inside = arith.cmpi slt, %j, %size_j : i32
            %y = arith.select %inside, %x, %minus_inf : f32
            tile.yield %y : f32
          }
        }

        // The reference stays where no row exceeds it by more than 2^8.
        %top = tile.registers : !tile.rows<16> loc("top")
        tile.map rows(%c0 as %i) ins(%x = %m : !tile.rows<16>) outs(%top : !tile.rows<16>) {
          tile.yield %x : f32
        }
        tile.reduce_rows max %s into %top : !tile.fragment<16, 80>, !tile.rows<16>
        %moved = tile.any(%top, %m) : !tile.rows<16>, !tile.rows<16> {
        ^bb0(%x: f32, %y: f32):
          %xs = arith.mulf %x, %scale_log2 : f32
          %ys = arith.mulf %y, %scale_log2 : f32
          %bound = arith.addf %ys, %slack : f32
          %exceeds = arith.cmpf ugt, %xs, %bound : f32
          tile.yield %exceeds : i1
        } loc("moved")
        %rescale = tile.registers : !tile.rows<16> loc("rescale")
        scf.if %moved {
          tile.reduce_quad max %top : !tile.rows<16>
          tile.map rows(%c0 as %i) ins(%x = %m : !tile.rows<16>, %y = %top : !tile.rows<16>, %sum = %l : !tile.rows<16>) outs(%rescale : !tile.rows<16>, %m : !tile.rows<16>, %l : !tile.rows<16>) {
            %empty = arith.cmpf oeq, %y, %minus_inf : f32
            %z = arith.select %empty, %f0, %y : f32
            %d = arith.subf %x, %z : f32
            %ds = arith.mulf %d, %scale_log2 : f32
            %factor = math.exp2 %ds fastmath<afn> : f32
            %sum_scaled = arith.mulf %sum, %factor : f32
            tile.yield %factor, %y, %sum_scaled : f32, f32, f32
          }
        }
        %shift = tile.registers : !tile.rows<16> loc("shift")
        tile.map rows(%c0 as %i) ins(%x = %m : !tile.rows<16>) outs(%shift : !tile.rows<16>) {
          %empty = arith.cmpf oeq, %x, %minus_inf : f32
          %z = arith.select %empty, %f0, %x : f32
          %y = arith.mulf %z, %scale_log2 : f32
          tile.yield %y : f32
        }
        tile.map rows(%c0 as %i) cols(%j0 as %j) ins(%x = %s : !tile.fragment<16, 80>, %z = %shift : !tile.rows<16>) outs(%s : !tile.fragment<16, 80>) {
          %minus = arith.negf %z : f32
          %e = math.fma %x, %scale_log2, %minus : f32
          %y = math.exp2 %e fastmath<afn> : f32
          tile.yield %y : f32
        }
        tile.reduce_rows add %s into %l : !tile.fragment<16, 80>, !tile.rows<16>
        tile.mma_wait 0 for %o, %s : !tile.fragment<16, 128>, !tile.fragment<16, 80>
        tile.release %v_pipe[%n] : !tile.pipe<3, <80, 128, bf16, panels 80>>
        tile.convert %s to %p : !tile.fragment<16, 80> -> !tile.operand<16, 80, bf16>
        scf.if %moved {
          tile.scale_rows %o by %rescale : !tile.fragment<16, 128>, !tile.rows<16>
        }
        scf.yield %next : i32
      } loc("n")
      tile.release %q_pipe[%q_n] : !tile.pipe<1, <192, 128, bf16, panels 192>>
      tile.await %v_pipe[%n_last] : !tile.pipe<3, <80, 128, bf16, panels 80>>
      tile.mma_fence
      %v_last = tile.stage %v_pipe[%n_last] : !tile.pipe<3, <80, 128, bf16, panels 80>> -> !tile.shared<80, 128, bf16, panels 80>
      tile.mma_start %o, %p, %v_last : !tile.fragment<16, 128>, !tile.operand<16, 80, bf16>, !tile.shared<80, 128, bf16, panels 80>
      tile.mma_commit
      tile.mma_wait 0 for %o : !tile.fragment<16, 128>
      tile.release %v_pipe[%n_last] : !tile.pipe<3, <80, 128, bf16, panels 80>>

      tile.reduce_quad add %l : !tile.rows<16>
      tile.map rows(%c0 as %i) ins(%x = %l : !tile.rows<16>) outs(%l : !tile.rows<16>) {
        %empty = arith.cmpf oeq, %x, %f0 : f32
        %inverse = arith.divf %f1, %x : f32
        %y = arith.select %empty, %f0, %inverse : f32
        tile.yield %y : f32
      }
      tile.scale_rows %o by %l : !tile.fragment<16, 128>, !tile.rows<16>
      %h = arith.remsi %cell, %size_h : i32
      %b = arith.divsi %cell, %size_h : i32
      %h_wide = arith.extsi %h : i32 to i64
      %b_wide = arith.extsi %b : i32 to i64
      %b_part = arith.muli %b_wide, %o_stride0 : i64
      %h_part = arith.muli %h_wide, %o_stride1 : i64
      %row = tile.warp
      %row_warp = arith.subi %row, %c4 : i32
      %row_part = arith.muli %row_warp, %c16 : i32
      %i_begin = arith.addi %i0, %row_part : i32 loc("i_begin")
      %offset = arith.addi %b_part, %h_part : i64
      // CHECK: tile.store_fragment_rows
      tile.store_fragment_rows %o from %i_begin to %size_i, %o_out[%offset] stride %o_stride2 : !tile.fragment<16, 128> -> !tile.ptr<bf16>
      %n_next = arith.addi %n_last, %c1 : i32
      %q_next = arith.addi %q_n, %c1 : i32
      scf.yield %n_next, %q_next : i32, i32
    }
  }
}
