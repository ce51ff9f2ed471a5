// A tensor that lacks a dim of the grid stays in shared memory, with all columns of the stream, while that
// dim goes on: blocks take row tiles that follow each other, copy it for the first of a run and release it
// behind the last one; steps read the columns of their tile. Blocks that divide the row tiles of a head
// evenly take them beside each other.
//   p = softmax(j, scale * sum(d, q * k) + bias[i,j])
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 40, "consumer_registers": 232, "resident_inputs": 256
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @bias_o(
// CHECK-SAME:    "bias_map" = %bias_map: !tile.tensor_map<[64, 128], bf16>
// CHECK-SAME:    grid {{\[\[}}"min", ["mul", ["ceildiv", ["size", "i"], 128], ["size", "h"]], ["multiprocessors"]]]
// CHECK:       %[[LONG:[a-z0-9_]+]] = arith.trunci %size_h
// CHECK:       %[[BESIDE:[a-z0-9_]+]] = arith.select %{{[a-z0-9_]+}}, %c4_i32, %{{[a-z0-9_]+}}
// CHECK-NEXT:  %member = arith.remui %block, %[[BESIDE]]
// CHECK-NEXT:  %team = arith.divui %block, %[[BESIDE]]
// CHECK:       %bias_pipe = tile.pipe {{.*}} users 8 : <1, <128, 256, bf16, panels 128>>
// CHECK:       tile.role "load"
// CHECK:         scf.for %work = %first to %end step %c1_i32 iter_args(%tiles_before = %c0_i32, %turn = %c0_i32)
// CHECK:           %in_run = arith.remui %work, %[[LONG]]
// CHECK:           tile.fill %k_pipe[%tiles_before]
// CHECK:           tile.fill %q_pipe[%turn]
// CHECK:           %[[FIRST:[a-z0-9_]+]] = arith.cmpi eq, %turn, %c0_i32
// CHECK:           %[[BEGINS:[a-z0-9_]+]] = arith.ori %[[FIRST]],
// CHECK-NEXT:      scf.if %[[BEGINS]] {
// CHECK:             tile.acquire %bias_pipe[%run_number]
// CHECK-NEXT:        tile.fill %bias_pipe[%run_number] from %bias_map(%i0)
// CHECK-NEXT:      }
// CHECK:           scf.for %t =
// CHECK-NOT:         bias
// CHECK:       tile.role "compute"
// CHECK:         scf.for %work = %first to %end step %c1_i32
// CHECK:           %run_number = arith.subi
// CHECK-NEXT:      tile.await %bias_pipe[%run_number]
// CHECK:           scf.for %t =
// CHECK:             %[[STAGE:[a-z0-9_]+]] = tile.stage %bias_pipe[%run_number]
// CHECK-NEXT:        %[[STRIP:[a-z0-9_]+]] = tile.strip %[[STAGE]][%{{[a-z0-9_]+}}] : {{.*}} -> <16, 256, bf16, panels 128>
// CHECK-NEXT:        tile.columns %[[STRIP]][%j0] : {{.*}} -> !tile.shared<16, 64, bf16, panels 128>
// CHECK-NOT:         tile.release %bias_pipe
// CHECK:           tile.release %v_pipe[%last]
// CHECK:           %[[NEXT:[a-z0-9_]+]] = arith.addi %work, %c1_i32
// CHECK-NEXT:      %[[LEFT:[a-z0-9_]+]] = arith.remui %[[NEXT]], %[[LONG2:[a-z0-9_]+]]
// CHECK-NEXT:      %[[ENDS:[a-z0-9_]+]] = arith.cmpi eq, %[[LEFT]], %c0_i32
// CHECK-NEXT:      scf.if %[[ENDS]] {
// CHECK-NEXT:        tile.warp_sync
// CHECK-NEXT:        tile.release %bias_pipe[%run_number]

attn.program @bias dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %bias = attn.input "bias" : <[i, j], bf16> loc("bias")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %bias_2 = attn.read %bias [i, j] : (!attn.array<[i, j], bf16>) -> !attn.array<[i, j], f32> loc("bias")
  %2 = attn.map (%scale_4 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>, %bias_5 = %bias_2 : !attn.array<[i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %4 = arith.mulf %scale_4, %arg1 : f32
    %5 = arith.addf %4, %bias_5 : f32
    attn.yield %5 : f32
  }
  %p = attn.softmax over [j] %2 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_3 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %3 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %v_5 = %v_3 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %4 = arith.mulf %p_4, %v_5 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %3 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
