// Blocks that stay and draw their row tiles: the thread that copies draws the number of the next one
// while it waits for the last slots of this one, and hands it to the warps that compute; these wait
// for it behind their results. The number that is beyond all row tiles ends both roles.
//   p = softmax(j, where(j <= i, scale * sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": true, "dynamic_scheduler": true
// RUN: %through-all %s | FileCheck %s
// RUN: %through-emit-cuda %s -o /dev/null | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: tile.kernel @causal_o(
// CHECK-SAME:    "drawn" = %drawn: !tile.ptr<i32>) grid {{\[\[}}"min", {{.*}}, ["multiprocessors"]]]
// CHECK:       %queue = tile.pipe at {{[0-9]+}} barriers {{[0-9]+}} users 8 writers 1 : <2, <1, 1, i32>>
// CHECK-NEXT:  tile.start_pipes {{.*}}, %queue :
// CHECK:       tile.role "load"
// CHECK:         %block = tile.block
// CHECK-NEXT:    scf.while (%work = %block, %tiles_before = %c0_i32, %turn = %c0_i32)
// CHECK-NEXT:      %[[LEFT:[a-z0-9_]+]] = arith.cmpi slt, %work, %row_tiles
// CHECK-NEXT:      scf.condition(%[[LEFT]]) %work, %tiles_before, %turn
// CHECK:         ^bb0(%work: i32, %tiles_before: i32, %turn: i32):
// CHECK:           tile.acquire %q_pipe[%turn]
// CHECK:           scf.for %t
// CHECK:           %ticket = tile.ticket %drawn[%c0_i64] of %row_tiles relaxed
// CHECK:           %next = arith.addi %{{[a-z0-9_]+}}, %ticket
// CHECK:           tile.fill %v_pipe[%last
// CHECK-NEXT:      tile.acquire %queue[%turn]
// CHECK-NEXT:      tile.put %queue[%turn], %next
// CHECK-NEXT:      %[[TURNS:[a-z0-9_]+]] = arith.addi %turn, %c1_i32
// CHECK-NEXT:      scf.yield %next, %tiles_after, %[[TURNS]]
// CHECK:       tile.role "compute"
// CHECK:         scf.while (%work = %{{[a-z0-9_]+}}, %tiles_before = %c0_i32, %turn = %c0_i32)
// CHECK:           tile.store_box
// CHECK:           tile.await %queue[%turn]
// CHECK-NEXT:      %next = tile.take %queue[%turn]
// CHECK-NEXT:      tile.release %queue[%turn]
// CHECK:           scf.yield %next,

// CUDA: #include "attnc/ticket.cuh"
// CUDA: i32 *__restrict__ drawn) {
// CUDA: const Pipe<SharedTile<i32, 1, 1>, 2> queue{base + {{[0-9]+}}, base + {{[0-9]+}}};
// CUDA: queue.start(8, 1);
// CUDA: // load
// CUDA: i32 work = blockIndex();
// CUDA-NEXT: i32 tiles_before = 0;
// CUDA-NEXT: i32 turn = 0;
// CUDA-NEXT: #pragma unroll 1
// CUDA-NEXT: while (work < row_tiles) {
// CUDA: const i32 ticket = drawTicketRelaxed(drawn + 0, row_tiles);
// CUDA-NEXT: const i32 next = gridSize() + ticket;
// CUDA: queue.acquire(turn);
// CUDA-NEXT: queue.put(turn, next);
// CUDA-NEXT: work = next;
// CUDA-NEXT: tiles_before = tiles_after;
// CUDA-NEXT: turn += 1;
// CUDA: // compute
// CUDA: while (work < row_tiles) {
// CUDA: queue.await(turn);
// CUDA-NEXT: const i32 next = queue.take(turn);
// CUDA-NEXT: queue.release(turn);
// CUDA-NEXT: work = next;

attn.program @causal dims [h, i, d = 64, j, e = 64] {
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
