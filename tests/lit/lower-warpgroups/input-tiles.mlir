// A tensor with a row and a column for each score arrives as tiles through a pipe of its own, with the
// keys; each warp reads its 16 rows of the tile. Where rows are not aligned for that, code reads
// elements.
//   p = softmax(j, scale * sum(d, q * k) + bias)
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false, "copy_inputs": true
// RUN: %through-all %s | FileCheck %s --check-prefix=COPY
// REDEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false, "copy_inputs": false
// RUN: %through-all %s | FileCheck %s --check-prefix=READ

// COPY-LABEL: tile.kernel @bias_o(
// COPY-SAME:    "bias_map" = %bias_map: !tile.tensor_map<[32, 128, 1], f32>
// COPY:       %bias_pipe = tile.pipe {{.*}} users 8 : <2, <128, 64, f32, panels 128>>
// COPY:       tile.role "load"
// COPY:         tile.fill %k_pipe[%c0_i32]
// COPY:         tile.acquire %bias_pipe[%c0_i32]
// COPY-NEXT:    tile.fill %bias_pipe[%c0_i32] from %bias_map(%c0_i32, %i0, %[[H:[a-z0-9_]+]])
// COPY:         tile.fill %q_pipe
// COPY:         scf.for %t =
// COPY:           tile.fill %k_pipe[%t] from %k_map(%[[J:[a-z0-9_]+]], %[[H]])
// COPY:           tile.acquire %bias_pipe[%t]
// COPY-NEXT:      tile.fill %bias_pipe[%t] from %bias_map(%[[J]], %i0, %[[H]])
// COPY:           tile.fill %v_pipe
// COPY:       tile.role "compute"
// COPY:         %i_begin = arith.addi %i0, %[[ROW:[a-z0-9_]+]]
// COPY:         scf.for %t =
// COPY:           tile.mma_wait 1 for %[[S:[a-z0-9_]+]] :
// COPY:           tile.await %bias_pipe[%t]
// COPY-NEXT:      %[[STAGE:[a-z0-9_]+]] = tile.stage %bias_pipe[%t]
// COPY-NEXT:      %[[STRIP:[a-z0-9_]+]] = tile.strip %[[STAGE]][%[[ROW]]] : {{.*}} -> <16, 64, f32, panels 128>
// COPY:           tile.map {{.*}} ins(%{{[a-z0-9_]+}} = %[[S]] : {{.*}}, %[[B:[a-z0-9_]+]] = %[[STRIP]] : {{.*}}) outs
// COPY:             arith.addf %{{[a-z0-9_]+}}, %[[B]]
// COPY:           tile.reduce_rows add
// COPY-NEXT:      tile.warp_sync
// COPY-NEXT:      tile.release %bias_pipe[%t]
// COPY-NEXT:      tile.mma_wait 0

// READ-LABEL: tile.kernel @bias_o
// READ-NOT:   bias_map
// READ-NOT:   bias_pipe
// READ:       tile.role "compute"
// READ:         scf.for %t =
// READ:           tile.mma_wait 1
// READ:           tile.map rows(%i_begin as %i) cols(
// READ:             tile.load %bias[

attn.program @bias dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %bias = attn.input "bias" : <[h, i, j], f32> loc("bias")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_4, %k_5 : f32
    attn.yield %4 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %bias_2 = attn.read %bias [h, i, j] : (!attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> loc("bias")
  %2 = attn.map (%scale_4 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>, %bias_5 = %bias_2 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
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
