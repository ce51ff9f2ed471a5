// One block per multiprocessor takes row tiles in turn and counts through how many slots of the pipes
// it has gone, or there is one block per row tile.
//   p = softmax(j, scale * sum(d, q * k))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": true
// RUN: %through-all %s | FileCheck %s --check-prefix=LOOP
// REDEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s --check-prefix=ONE

// LOOP-LABEL: tile.kernel @softmax_o(
// LOOP-SAME:    grid {{\[\[}}"min", ["mul", ["ceildiv", ["size", "i"], 128], ["size", "h"]], ["multiprocessors"]]]
// LOOP:       %i_tiles = arith.divsi
// LOOP:       %row_tiles = arith.muli %i_tiles, %extent
// LOOP:       tile.role "load"
// LOOP:         %block = tile.block
// LOOP-NEXT:    %[[STEP:[a-z0-9_]+]] = tile.grid_size
// LOOP-NEXT:    scf.for %work = %block to %row_tiles step %[[STEP]] iter_args(%tiles_before = %c0_i32, %turn = %c0_i32)
// LOOP-NEXT:      %[[NUMBER:[a-z0-9_]+]] = arith.remui %work, %i_tiles
// LOOP-NEXT:      arith.divui %work, %i_tiles
// LOOP-NEXT:      %i0 = arith.muli %[[NUMBER]], %c128_i32
// LOOP:           tile.acquire %q_pipe[%turn]
// LOOP:       tile.role "compute"
// LOOP:         %block = tile.block
// LOOP-NEXT:    %[[STEP2:[a-z0-9_]+]] = tile.grid_size
// LOOP-NEXT:    scf.for %work = %block to %row_tiles step %[[STEP2]] iter_args(%tiles_before = %c0_i32, %turn = %c0_i32)
// LOOP:           tile.await %q_pipe[%turn]
// LOOP:           tile.release %q_pipe[%turn]

// ONE-LABEL: tile.kernel @softmax_o(
// ONE-SAME:    grid {{\[\[}}"mul", ["ceildiv", ["size", "i"], 128], ["size", "h"]]]
// ONE:       tile.role "load"
// ONE-NOT:     tile.grid_size
// ONE:         %block = tile.block
// ONE-NEXT:    %[[NUMBER:[a-z0-9_]+]] = arith.remui %block, %i_tiles
// ONE-NEXT:    arith.divui %block, %i_tiles
// ONE-NEXT:    %i0 = arith.muli %[[NUMBER]], %c128_i32
// ONE:       tile.role "compute"
// ONE-NOT:     tile.grid_size
// ONE:         tile.await %q_pipe[%c0_i32]

attn.program @softmax dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %s = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %scale_3, %arg1 : f32
    attn.yield %3 : f32
  } loc("s")
  %p = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %2 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %3 = arith.mulf %p_3, %v_4 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
