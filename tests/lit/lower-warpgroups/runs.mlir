// Keys in pages of 16 that a table names: where all pages of a tile exist, boxes bring them, by a lane
// each; else all warps of the role that copies find the rows of the tile one by one.
//   o = sum(j, softmax(j, sum(d, q * k[table[j // 16], j % 16])) * v[table[j // 16], j % 16])
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s
// RUN: %through-emit-cuda %s -o /dev/null | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: tile.kernel @pages_o({{.*}}"k_map" = %k_map: !tile.tensor_map<[64, 16, 1], f16>, "k" = %k: !tile.ptr<f16>
// CHECK:       tile.role "load" warps 0 count 4
// CHECK:         tile.acquire %k_pipe[
// CHECK-NEXT:    %[[TILE:.*]] = tile.stage %k_pipe[
// CHECK-NEXT:    tile.copy_rows %k rows %{{.*}} to %[[TILE]] vector 16 {run = 16 : i64}
// CHECK:           tile.yield %{{.*}}, %{{.*}}, %k_map, %{{.*}}, %{{.*}} : i64, i1, !tile.tensor_map<[64, 16, 1], f16>, i32, i32
// CHECK:         tile.complete %k_pipe

// CUDA:      k_pipe.acquire(0);
// CUDA-NEXT: const auto [[PLACE:place[_0-9]*]] = [&](i32 j) -> RowPlace<2> {
// CUDA:        return {{{.*}}, {{.*}}, {{{.*}}, {{.*}}}};
// CUDA-NEXT: };
// CUDA-NEXT: const i32 [[PART:part[_0-9]*]] = min<i32>(lane(), 3);
// CUDA-NEXT: const auto [[START:start[_0-9]*]] = [[PLACE]]([[PART]] * 16);
// CUDA-NEXT: const auto [[END:end[_0-9]*]] = [[PLACE]]([[PART]] * 16 + 15);
// CUDA-NEXT: if (!anyLane(!([[START]].exists && [[END]].exists))) {
// CUDA-NEXT:   if (lane() < 4 && lane() % 4 == warpIndex() % 4)
// CUDA-NEXT:     k_pipe.fillRun<16>(0, [[PART]], k_map, [[START]]);
// CUDA-NEXT: } else {
// CUDA-NEXT:   for (i32 [[BEGIN:begin[_0-9]*]] = warpIndex() * 16;
// CUDA-NEXT:     const auto [[EACH:each[_0-9]*]] = [[PLACE]]([[BEGIN]] + lane());
// CUDA-NEXT:     copyRows<16, 16>(k_pipe[0], [[BEGIN]], k + [[EACH]].offset, [[EACH]].exists);
// CUDA:      k_pipe.complete(0);

attn.program @pages dims [i, d = 64, n, t = 16, e = 64, w, j] {
  %q = attn.input "q" : <[i, d], f16>
  %k = attn.input "k" : <[n, t, d], f16>
  %v = attn.input "v" : <[n, t, e], f16>
  %table = attn.input "table" : <[w], i32>
  %0 = attn.size w : <[], i64>
  %j = attn.map (%arg0 = %0 : !attn.array<[], i64>) -> !attn.array<[], i64> {
    %c16_i64 = arith.constant 16 : i64
    %8 = arith.muli %arg0, %c16_i64 : i64
    attn.yield %8 : i64
  }
  attn.extent j %j : <[], i64>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f16>) -> !attn.array<[i, d], f32>
  %1 = attn.index j : <[j], i64>
  %2 = attn.map (%arg0 = %1 : !attn.array<[j], i64>) -> !attn.array<[j], i64> {
    %c16_i64 = arith.constant 16 : i64
    %8 = arith.floordivsi %arg0, %c16_i64 : i64
    attn.yield %8 : i64
  }
  %table_1 = attn.read %table [%2] : (!attn.array<[w], i32>, !attn.array<[j], i64>) -> !attn.array<[j], i64>
  %3 = attn.map (%arg0 = %1 : !attn.array<[j], i64>) -> !attn.array<[j], i64> {
    %c16_i64 = arith.constant 16 : i64
    %8 = attn.mod %arg0, %c16_i64 : i64
    attn.yield %8 : i64
  }
  %k_2 = attn.read %k [%table_1, %3, d] else 0.000000e+00 {attn.checked = ["table[j//size(t)]", "", ""]} : (!attn.array<[n, t, d], f16>, !attn.array<[j], i64>, !attn.array<[j], i64>) -> !attn.array<[d, j], f32>
  %4 = attn.map (%q_5 = %q_0 : !attn.array<[i, d], f32>, %k_6 = %k_2 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %8 = arith.mulf %q_5, %k_6 : f32
    attn.yield %8 : f32
  }
  %s = attn.reduce add over [d] %4 : <[i, d, j], f32> -> <[i, j], f32>
  %p = attn.softmax over [j] %s : <[i, j], f32> -> <[i, j], f32>
  %5 = attn.map (%arg0 = %1 : !attn.array<[j], i64>) -> !attn.array<[j], i64> {
    %c16_i64 = arith.constant 16 : i64
    %8 = arith.floordivsi %arg0, %c16_i64 : i64
    attn.yield %8 : i64
  }
  %table_3 = attn.read %table [%5] : (!attn.array<[w], i32>, !attn.array<[j], i64>) -> !attn.array<[j], i64>
  %6 = attn.map (%arg0 = %1 : !attn.array<[j], i64>) -> !attn.array<[j], i64> {
    %c16_i64 = arith.constant 16 : i64
    %8 = attn.mod %arg0, %c16_i64 : i64
    attn.yield %8 : i64
  }
  %v_4 = attn.read %v [%table_3, %6, e] else 0.000000e+00 {attn.checked = ["table[j//size(t)]", "", ""]} : (!attn.array<[n, t, e], f16>, !attn.array<[j], i64>, !attn.array<[j], i64>) -> !attn.array<[e, j], f32>
  %7 = attn.map (%p_5 = %p : !attn.array<[i, j], f32>, %v_6 = %v_4 : !attn.array<[e, j], f32>) -> !attn.array<[i, e, j], f32> {
    %8 = arith.mulf %p_5, %v_6 : f32
    attn.yield %8 : f32
  }
  %o = attn.reduce add over [j] %7 : <[i, e, j], f32> -> <[i, e], f32>
  attn.output "o" [i, e] %o as f16 : <[i, e], f32>
}
