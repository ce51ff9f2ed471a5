// A mask with holes, a window beside the first keys: the warp that copies asks of 32 tiles at once, for
// the rows of each group, which ones matter and which are full, and lists for the warps that compute
// those that matter to one of them. The list has an end for each row tile. A group folds its tiles in
// runs, and lets those of the other groups pass. A row tile to which nothing matters has its first tile,
// which no group computes.
//   p = softmax(j, where(abs(i - j) <= 100 or j < 64, sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": true, "dynamic_scheduler": true
// RUN: %through-all %s | FileCheck %s
// RUN: %through-emit-cuda %s -o /dev/null | FileCheck %s --check-prefix=CUDA

// CHECK:       %list = tile.pipe at {{[0-9]+}} barriers {{[0-9]+}} users 8 writers 1 : <8, <1, 1, i32>>
// CHECK:       tile.role "load"
// CHECK:         scf.for %chunk = %first_tile to %end_tile
// CHECK:           %[[VOTES:.*]]:4 = tile.ballot : i32, i32, i32, i32 {
// CHECK-NEXT:      ^bb0(%lane: i32):
// CHECK:             tile.yield {{.*}} : i1, i1, i1, i1
// CHECK:           %[[LIVE:.*]] = arith.ori %[[VOTES]]#0, %[[VOTES]]#2
// CHECK:           scf.while {{.*}}%[[LIVE]]
// CHECK:             %bit = tile.first_bit
// CHECK:             %[[T:.*]] = arith.addi %chunk, %bit
// CHECK:             tile.single {
// CHECK:               tile.has_bit %[[VOTES]]#0[%bit]
// CHECK:               tile.has_bit %[[VOTES]]#1[%bit]
// CHECK:               tile.has_bit %[[VOTES]]#2[%bit]
// CHECK:               tile.has_bit %[[VOTES]]#3[%bit]
// CHECK:               tile.acquire %list[
// CHECK-NEXT:          tile.put
// CHECK:               tile.acquire %k_pipe[
// CHECK:             tile.without_first_bit
// CHECK:       tile.role "compute"
// CHECK-NOT:     tile.ballot
// CHECK:         tile.await %list[
// CHECK-NEXT:    %[[ENTRY:.*]] = tile.take %list[
// CHECK-NEXT:    tile.release %list[
// CHECK:         scf.while
// CHECK:           arith.cmpi ne, {{.*}}, %c2_i32
// CHECK:           tile.has_bit
// CHECK:           scf.if
// CHECK:             tile.mma_start
// CHECK:             scf.while
// CHECK:             tile.mma_start
// CHECK:             tile.release %v_pipe[%last]
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      } else {
// CHECK-NOT:         tile.mma_start
// CHECK:             tile.await %k_pipe
// CHECK:             tile.await %v_pipe
// CHECK:             tile.release %k_pipe
// CHECK:             tile.release %v_pipe

// The number of the next row tile reaches the other threads of that warp as it does those that compute.
// CUDA: if (warpIndex() == 0) {
// CUDA: for (i32 chunk = first_tile; chunk < end_tile; chunk += 32) {
// CUDA: const i32 [[LIVE:[a-z0-9_]+]] = ballotLanes(
// CUDA: const i32 [[FULL:[a-z0-9_]+]] = ballotLanes(
// CUDA: const i32 [[LIVE_2:[a-z0-9_]+]] = ballotLanes(
// CUDA: i32 live = ([[LIVE]] | [[LIVE_2]]);
// CUDA: while (live != 0) {
// CUDA-NEXT: const i32 bit = firstBit(live);
// CUDA: hasBit([[FULL]], bit)
// CUDA: list.acquire(
// CUDA-NEXT: list.put(
// CUDA: live = withoutFirstBit(live);
// CUDA: list.put({{.*}}, 2);
// CUDA: queue.put(turn,
// CUDA: queue.await(turn);
// CUDA-NEXT: const i32 next = queue.take(turn);
// CUDA: // compute
// CUDA: list.await(
// CUDA-NEXT: const i32 entry{{.*}} = list.take(
// CUDA-NEXT: list.release(

attn.program @apart dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %0 = attn.index i : <[i], i64>
  %1 = attn.index j : <[j], i64>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %2 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %6 = arith.mulf %q_3, %k_4 : f32
    attn.yield %6 : f32
  }
  %3 = attn.reduce add over [d] %2 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %4 = attn.map (%arg0 = %0 : !attn.array<[i], i64>, %arg1 = %1 : !attn.array<[j], i64>, %arg2 = %3 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.subi %arg0, %arg1 : i64
    %7 = math.absi %6 : i64
    %c100_i64 = arith.constant 100 : i64
    %8 = arith.cmpi sle, %7, %c100_i64 : i64
    %c64_i64 = arith.constant 64 : i64
    %9 = arith.cmpi slt, %arg1, %c64_i64 : i64
    %10 = arith.ori %8, %9 : i1
    %cst = arith.constant 0xFF800000 : f32
    %11 = arith.select %10, %arg2, %cst : f32
    attn.yield %11 : f32
  }
  %p = attn.softmax over [j] %4 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32>
  %5 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %6 = arith.mulf %p_3, %v_4 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %5 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
