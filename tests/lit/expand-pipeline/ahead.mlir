// Copies run ahead of the tile that they bring: the first ones start behind what fills shared memory
// before the stream, each tile's as one group, also where there is no such tile. A barrier says that
// the tile is there and that nobody reads the slot that the next copies take.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --split-input-file --attnc-pipeline='from=expand-pipeline through=expand-pipeline' %s | FileCheck %s

!tile = !tile.shared<16, 16, f16>
!ring = !tile.ring<3, !tile>

// CHECK-LABEL: tile.kernel @whole
// CHECK:         tile.copy %arg0[
// CHECK:         %[[FIRST:.*]] = arith.cmpi slt, %c0_i32, %arg2
// CHECK-NEXT:    scf.if %[[FIRST]] {
// CHECK:           tile.copy %arg1[
// CHECK:         }
// CHECK-NEXT:    tile.commit
// CHECK:         tile.copy %arg1[
// CHECK:         tile.commit
// CHECK-NOT:     tile.copy
// CHECK:         %acc = tile.registers
// CHECK:         scf.for %t =
// CHECK-NEXT:      tile.wait 1
// CHECK-NEXT:      tile.barrier
// CHECK:           %next = arith.addi %t, %c2
// CHECK:           %[[EXISTS:.*]] = arith.cmpi slt, %next, %arg2
// CHECK-NEXT:      scf.if %[[EXISTS]] {
// CHECK:             tile.stage %k_ring[%next]
// CHECK:           tile.commit
// CHECK-NEXT:      %[[TILE:.*]] = tile.stage %k_ring[%t]
// CHECK-NEXT:      tile.mma %acc, %q_tile, %[[TILE]]
// CHECK-NEXT:    }
// CHECK-NOT:     tile.step
tile.kernel @whole("q" = %q: !tile.ptr<f16>, "k" = %k: !tile.ptr<f16>, "tiles" = %tiles: i32) grid [1] threads 32 smem 2048 {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %stride = arith.constant 16 : i64
  %q_tile = tile.shared at 0 : !tile loc("q_tile")
  %k_ring = tile.shared at 512 : !ring loc("k_ring")
  tile.copy %q[%zero] stride %stride rows %c16 to %q_tile vector 16 : !tile.ptr<f16> -> !tile
  %acc = tile.registers all 0.0 : !tile.fragment<16, 16> loc("acc")
  tile.stream_ahead %c0 to %tiles by 2 {
  ^bb0(%t: i32, %n: i32):
    tile.step "scores" {
      %k_tile = tile.stage %k_ring[%n] : !ring -> !tile
      tile.mma %acc, %q_tile, %k_tile transposed : !tile.fragment<16, 16>, !tile, !tile
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
    %row = arith.muli %t, %c16 : i32
    %wide = arith.extsi %row : i32 to i64
    %into = tile.stage %k_ring[%n] : !ring -> !tile
    tile.copy %k[%wide] stride %stride rows %c16 to %into vector 16 : !tile.ptr<f16> -> !tile
  }
}

// -----

// A step in parts is a loop. Its copies go on into the next tile; before the loop the part is known, and
// so is what comes with it.
!tile = !tile.shared<16, 16, f16>
!ring = !tile.ring<2, !tile>

// CHECK-LABEL: tile.kernel @parts
// CHECK:         tile.copy %arg0[
// CHECK:         scf.if
// CHECK-NEXT:      tile.stage %k_ring[
// CHECK-NEXT:      tile.copy %arg1[
// CHECK-NOT:       scf.if
// CHECK-NOT:       tile.copy
// CHECK:         tile.commit
// CHECK:         scf.for %t =
// CHECK-NOT:       tile.wait
// CHECK:           scf.for %part =
// CHECK:             tile.wait 0
// CHECK-NEXT:        tile.barrier
// CHECK:             %later = arith.addi %part, %c1
// CHECK:             %tile_ahead = arith.select
// CHECK:             %part_ahead = arith.select
// CHECK:             scf.if
// CHECK:               tile.copy %arg1[
// CHECK:               scf.if
// CHECK:                 tile.copy %arg2[
// CHECK:             tile.commit
// CHECK:             tile.mma %s
// CHECK:           tile.reduce_rows max %s
tile.kernel @parts("q" = %q: !tile.ptr<f16>, "k" = %k: !tile.ptr<f16>, "v" = %v: !tile.ptr<f16>, "tiles" = %tiles: i32) grid [1] threads 32 smem 2560 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %stride = arith.constant 16 : i64
  %q_tile = tile.shared at 0 : !tile loc("q_tile")
  %k_ring = tile.shared at 512 : !ring loc("k_ring")
  %v_tile = tile.shared at 1536 : !tile loc("v_tile")
  tile.copy %q[%zero] stride %stride rows %c16 to %q_tile vector 16 : !tile.ptr<f16> -> !tile
  %m = tile.registers all 0.0 : !tile.rows<16> loc("m")
  tile.stream_ahead %c0 to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    %s = tile.registers all 0.0 : !tile.fragment<16, 16> loc("s")
    tile.step "scores" parts 2 {
    ^bb0(%part: i32, %arrived: i32):
      %k_tile = tile.stage %k_ring[%arrived] : !ring -> !tile
      tile.mma %s, %q_tile, %k_tile transposed : !tile.fragment<16, 16>, !tile, !tile
      tile.yield
    }
    tile.step "fold" {
      tile.reduce_rows max %s into %m : !tile.fragment<16, 16>, !tile.rows<16>
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
    %into = tile.stage %k_ring[%n] : !ring -> !tile
    tile.copy %k[%zero] stride %stride rows %c16 to %into vector 16 : !tile.ptr<f16> -> !tile
    %last = arith.cmpi eq, %part, %c1 : i32
    scf.if %last {
      tile.copy %v[%zero] stride %stride rows %c16 to %v_tile vector 16 : !tile.ptr<f16> -> !tile
    }
  }
}
