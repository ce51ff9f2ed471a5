// A running maximum may lag behind the scores, but not as a result: each lane keeps its own exact one
// along the stream, and the states follow it at the end.
//   s = scale * sum(d, q * k)
//   o[h,i,e] = sum(j, softmax(j, s) * v)
//   lse[h,i] = logsumexp(j, s)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 128, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @lse_o_lse(
// CHECK:       tile.role "compute"
// CHECK:         %p_max = tile.registers all 0xFF800000 : !tile.rows<16>
// CHECK-NEXT:    %p_max_top = tile.registers all 0xFF800000 : !tile.rows<16>
// CHECK:         %[[O:[a-z0-9_]+]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 64>
// CHECK:         scf.for %t =
// CHECK:           tile.mma_wait 1
// CHECK:           tile.reduce_rows max %scores into %p_max_top
// CHECK-NEXT:      tile.any(%p_max_top, %p_max_followed)
// CHECK:         tile.mma_wait 0 for %[[O]] :
// CHECK:         tile.reduce_quad add %p_sum
// CHECK-NEXT:    tile.reduce_quad max %p_max_top

// factor = exp(maximum so far - top), in base 2, and the sums are scaled by it.
// CHECK:         tile.map rows(%i_begin as %i) ins(%[[M:[a-z0-9_]+]] = %p_max : {{.*}}, %[[TOP:[a-z0-9_]+]] = %p_max_top : {{.*}}) outs(%[[F:[a-z0-9_]+]] : {{.*}}, %p_max : {{.*}}) {
// CHECK:           math.exp2
// CHECK-NEXT:      tile.yield %{{[a-z0-9_]+}}, %[[TOP]]
// CHECK:         tile.map {{.*}} ins(%{{[a-z0-9_]+}} = %p_sum : {{.*}}, %{{[a-z0-9_]+}} = %[[F]] : {{.*}}) outs(%p_sum : {{.*}}) {
// CHECK:         tile.scale_rows %[[O]] by %[[F]]

// The maximum was that of unscaled scores until here.
// CHECK-NEXT:    tile.map {{.*}} ins(%[[M1:[a-z0-9_]+]] = %p_max : {{.*}}) outs(%p_max : {{.*}}) {
// CHECK-NEXT:      arith.mulf %[[M1]], %scale
// CHECK:         tile.map {{.*}} ins(%[[M2:[a-z0-9_]+]] = %p_max : {{.*}}, %[[Z:[a-z0-9_]+]] = %p_sum : {{.*}}) outs(%[[LSE:[a-z0-9_]+]] : {{.*}}) {
// CHECK-NEXT:      %[[LOG:[a-z0-9_]+]] = math.log %[[Z]]
// CHECK-NEXT:      arith.addf %[[M2]], %[[LOG]]
// CHECK:         tile.store_rows %[[LSE]] from %i_begin to %i_end

attn.program @lse dims [h, i, d = 64, j, e = 64] {
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
  %lse = attn.reduce logsumexp over [j] %s : <[h, i, j], f32> -> <[h, i], f32> loc("lse")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
  attn.output "lse" [h, i] %lse as f32 : <[h, i], f32>
}
