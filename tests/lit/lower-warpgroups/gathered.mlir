// Keys that an index picks: their rows lie anywhere, so that all warps of the role that copies take part
// in a tile, and it has arrived when their copies have. What threads have copied, products see once who
// awaits it has published it. One thread still copies boxes.
//   o = sum(j, softmax(j, where(abs(i - j) <= 100 or j < 64, sum(d, q * k[at]), -inf)) * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "ping_pong": false
// RUN: %through-all %s | FileCheck %s
// RUN: %through-emit-cuda %s -o /dev/null | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: tile.kernel @gathered_o("q_map" = %{{.*}}: !tile.tensor_map<[64, 128, 1], f16>, "at" = %{{.*}}: !tile.ptr<i32>{{.*}}"k" = %k: !tile.ptr<f16>{{.*}}"v_map" = %{{.*}}: !tile.tensor_map<[64, 64], f16>
// CHECK:       %k_pipe = tile.pipe {{.*}} users 8 writers 4 copied : <2, <64, 64, f16, panels 64>>
// CHECK:       %v_pipe = tile.pipe {{.*}} users 8 : <2, <64, 64, f16, panels 64>>
// CHECK:       tile.role "load" warps 0 count 4
// CHECK-NOT:     tile.warp
// CHECK:         tile.ballot
// CHECK:           tile.single {
// CHECK-NEXT:        tile.acquire %list
// CHECK-NEXT:        tile.put
// CHECK-NEXT:      }
// CHECK:           tile.acquire %k_pipe[
// CHECK-NEXT:      %[[TILE:.*]] = tile.stage %k_pipe[
// CHECK-NEXT:      tile.copy_rows %k rows %{{.*}} to %[[TILE]] vector 16
// CHECK:             tile.load %{{.*}} : <i32> -> i64
// CHECK:             tile.yield {{.*}} : i64, i1
// CHECK:           tile.complete %k_pipe
// CHECK:           tile.single {
// CHECK:             tile.acquire %v_pipe
// CHECK-NEXT:        tile.fill %v_pipe
// CHECK:       tile.role "compute"
// CHECK:         tile.await %k_pipe
// CHECK-NEXT:    tile.publish
// CHECK:         tile.await %v_pipe
// CHECK-NOT:     tile.publish
// CHECK:         tile.stage %v_pipe

// CUDA: const CopiedPipe<PanelTile<f16, 64, 64>, 2> k_pipe{
// CUDA: k_pipe.start(8, 4);
// CUDA: if (warpgroup == 0) { // load
// CUDA-NOT: warpIndex() == 0
// CUDA: if (threadIndex() == 0) {
// CUDA-NEXT: list.acquire(
// CUDA: k_pipe.acquire([[N:[a-z0-9_]+]]);
// CUDA-NEXT: for (i32 [[ROW:begin[_0-9]*]] = warpIndex() * 16; [[ROW]] < 64; [[ROW]] += 64) {
// CUDA-NEXT: = {{.*}} + [[ROW]] + lane();
// CUDA: copyRows<16, 16>(k_pipe{{\[}}[[N]]], [[ROW]], k + {{.*}}, {{.*}});
// CUDA: k_pipe.complete([[N]]);

attn.program @gathered dims [h, i, d = 64, n, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], f16> loc("q")
  %k = attn.input "k" : <[n, d], f16> loc("k")
  %v = attn.input "v" : <[j, e], f16> loc("v")
  %at = attn.input "at" : <[j], i32> loc("at")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], f16>) -> !attn.array<[h, i, d], f32> loc("q")
  %at_0 = attn.read %at [j] : (!attn.array<[j], i32>) -> !attn.array<[j], i64> loc("at")
  %k_0 = attn.read %k [%at_0, d] else 0.000000e+00 {attn.checked = ["at[j]", ""]} : (!attn.array<[n, d], f16>, !attn.array<[j], i64>) -> !attn.array<[d, j], f32> loc("k")
  %0 = attn.map (%x = %q_0 : !attn.array<[h, i, d], f32>, %y = %k_0 : !attn.array<[d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64> loc("j")
  %2 = attn.index i : <[i], i64> loc("i")
  %3 = attn.map (%row = %2 : !attn.array<[i], i64>, %column = %1 : !attn.array<[j], i64>, %x = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %first = arith.constant 64 : i64
    %width = arith.constant 100 : i64
    %none = arith.constant 0xFF800000 : f32
    %distance = arith.subi %row, %column : i64
    %far = math.absi %distance : i64
    %near = arith.cmpi sle, %far, %width : i64
    %leads = arith.cmpi slt, %column, %first : i64
    %seen = arith.ori %near, %leads : i1
    %z = arith.select %seen, %x, %none : f32
    attn.yield %z : f32
  } loc("s")
  %p = attn.softmax over [j] %3 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_0 = attn.read %v [j, e] : (!attn.array<[j, e], f16>) -> !attn.array<[j, e], f32> loc("v")
  %4 = attn.map (%x = %p : !attn.array<[h, i, j], f32>, %y = %v_0 : !attn.array<[j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }
  %o = attn.reduce add over [j] %4 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as f16 : <[h, i, e], f32>
}
