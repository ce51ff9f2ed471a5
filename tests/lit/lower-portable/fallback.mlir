// A fallback is launched with few blocks, which take those of the whole grid in turn: mostly there is
// nothing to do, and to start a block costs more than to see that. Shared memory is free for the
// next one behind a barrier.
// RUN: attnc-opt --attnc-pipeline='target=sm_90a through=lower-nests' %s | FileCheck %s

// CHECK: tile.kernel @full_o_fallback
// CHECK-SAME: ["min", 288, ["mul",
// CHECK: %[[FIRST:.*]] = tile.block
// CHECK: %[[END:.*]] = arith.trunci
// CHECK: %[[STEP:.*]] = tile.grid_size
// CHECK: scf.for %[[BLOCK:.*]] = %[[FIRST]] to %[[END]] step %[[STEP]]
// CHECK-NOT: tile.block
// CHECK: arith.remsi %[[BLOCK]]
// CHECK: tile.stream_ahead
// CHECK: tile.store_tile
// CHECK: tile.barrier
// CHECK-NEXT: }

module {
  attn.program @full dims [b, h, i, d = 64, j, e = 64] attributes {attn.reference = {b = 2 : i64, h = 3 : i64, i = 129 : i64, j = 200 : i64}, doc = "Scaled dot-product attention; Vaswani et al. 2017, Attention Is All You Need"} {
    %q = attn.input "q" : <[b, h, i, d], f32>
    %k = attn.input "k" : <[b, h, j, d], f32>
    %v = attn.input "v" : <[b, h, j, e], f32>
    %0 = attn.map () -> !attn.array<[], f32> {
      %cst = arith.constant 1.250000e-01 : f32
      attn.yield %cst : f32
    }
    %scale = attn.param "scale" default %0 : !attn.array<[], f32> {lower = 0.000000e+00 : f64, lower_open} -> <[], f32>
    %q_0 = attn.read %q [b, h, i, d] : (!attn.array<[b, h, i, d], f32>) -> !attn.array<[b, h, i, d], f32>
    %k_1 = attn.read %k [b, h, j, d] : (!attn.array<[b, h, j, d], f32>) -> !attn.array<[b, h, d, j], f32>
    %1 = attn.map (%q_3 = %q_0 : !attn.array<[b, h, i, d], f32>, %k_4 = %k_1 : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, d, j], f32> {
      %4 = arith.mulf %q_3, %k_4 : f32
      attn.yield %4 : f32
    }
    %2 = attn.reduce add over [d] %1 : <[b, h, i, d, j], f32> -> <[b, h, i, j], f32>
    %s = attn.map (%arg0 = %2 : !attn.array<[b, h, i, j], f32>, %scale_3 = %scale : !attn.array<[], f32>) -> !attn.array<[b, h, i, j], f32> {
      %4 = arith.mulf %arg0, %scale_3 : f32
      attn.yield %4 : f32
    }
    %p = attn.softmax over [j] %s : <[b, h, i, j], f32> -> <[b, h, i, j], f32>
    %v_2 = attn.read %v [b, h, j, e] : (!attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, j, e], f32>
    %3 = attn.map (%p_3 = %p : !attn.array<[b, h, i, j], f32>, %v_4 = %v_2 : !attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, i, j, e], f32> {
      %4 = arith.mulf %p_3, %v_4 : f32
      attn.yield %4 : f32
    }
    %o = attn.reduce add over [j] %3 : <[b, h, i, j, e], f32> -> <[b, h, i, e], f32>
    attn.output "o" [b, h, i, e] %o as f32 : <[b, h, i, e], f32>
  }
}
