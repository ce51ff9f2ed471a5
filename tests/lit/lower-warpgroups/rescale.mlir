// When a reference moves, the sums against it are scaled before the next products are added to them,
// not in the tile in which it moves: its own weights are against the reference that has moved.
//   p = softmax(j, scale * sum(d, q * k))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": true
// RUN: %through-all %s | FileCheck %s

// The row sums are scaled where the reference moves, since the weights of that tile are added to them
// next; the fragment only in the next tile, which is told whether it has moved.
// CHECK-LABEL: tile.kernel @narrow_o(
// CHECK:       %[[O:[a-z0-9_]+]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 64>
// CHECK:       %[[END:[a-z0-9_]+]] = scf.for %t = {{.*}} iter_args(%moved = %false) -> (i1)
// CHECK:         scf.if %moved {
// CHECK-NEXT:      tile.scale_rows %[[O]] by %rescale
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.await %k_pipe
// CHECK:         tile.mma_start %scores
// CHECK-NEXT:    tile.mma_commit
// CHECK-NEXT:    tile.await %v_pipe
// CHECK:         tile.mma_start %[[O]], %weights
// CHECK:         tile.mma_wait 1
// CHECK:         %[[MOVED:[a-z0-9_]+]] = tile.any(%p_max_top, %p_max_followed)
// CHECK:         scf.if %[[MOVED]] {
// CHECK-NEXT:      tile.reduce_quad max %p_max_top
// CHECK-NOT:       tile.scale_rows
// CHECK:           outs(%rescale : {{.*}}, %p_max : {{.*}}) {
// CHECK:           ins(%{{[a-z0-9_]+}} = %p_sum : {{.*}}, %{{[a-z0-9_]+}} = %rescale : {{.*}}) outs(%p_sum : {{.*}}) {
// CHECK:         tile.mma_wait 0 for %[[O]],
// CHECK-NOT:     tile.scale_rows
// CHECK:         scf.yield %[[MOVED]] : i1
// CHECK:       scf.if %[[END]] {
// CHECK-NEXT:    tile.scale_rows %[[O]] by %rescale
// CHECK-NEXT:  }
// CHECK-NEXT:  tile.await %v_pipe
// CHECK-NEXT:  tile.mma_fence
// CHECK:       tile.mma_start %[[O]], %weights

// Wide sums are scaled while the products of the scores run.
// CHECK-LABEL: tile.kernel @wide_o(
// CHECK:       %[[O:[a-z0-9_]+]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 128>
// CHECK:       %[[END:[a-z0-9_]+]] = scf.for %t = {{.*}} iter_args(%moved = %false) -> (i1)
// CHECK:         tile.await %k_pipe
// CHECK:         tile.mma_start %scores
// CHECK-NEXT:    tile.mma_commit
// CHECK-NEXT:    scf.if %moved {
// CHECK-NEXT:      tile.scale_rows %[[O]] by %rescale
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.await %v_pipe
// CHECK-NEXT:    tile.mma_fence
// CHECK:         tile.mma_start %[[O]], %weights

attn.program @narrow dims [h, i, d = 64, j, e = 64] {
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

attn.program @wide dims [h, i, d = 64, j, e = 128] {
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
