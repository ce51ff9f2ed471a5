// An operand of both products arrives once, with the scores, and is released after the later product.
//   o[h,i,d] = sum(j, softmax(j, scale * sum(d, q * c)) * c)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @latent_o(
// CHECK:       tile.start_pipes %q_pipe, %c_pipe :
// CHECK:       tile.role "load"
// CHECK:         scf.for %t =
// CHECK:           tile.acquire %c_pipe[%t]
// CHECK-NEXT:      tile.fill %c_pipe[%t]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK:       tile.role "compute"
// CHECK:         tile.mma_wait 0 for %scores
// CHECK-NOT:     tile.release
// CHECK:         scf.for %t =
// CHECK-NEXT:      %[[BEFORE:[a-z0-9_]+]] = arith.addi %t, %c-1_i32
// CHECK:           tile.await %c_pipe[%t]
// CHECK:           %[[K:[a-z0-9_]+]] = tile.stage %c_pipe[%t]
// CHECK-NEXT:      tile.mma_start %scores, %{{[a-z0-9_]+}}, %[[K]] transposed fresh
// CHECK-NEXT:      tile.mma_commit
// CHECK-NEXT:      tile.mma_fence
// CHECK-NEXT:      %[[W:[a-z0-9_]+]] = tile.stage %c_pipe[%[[BEFORE]]]
// CHECK-NEXT:      tile.mma_start %[[O:[a-z0-9_]+]], %weights, %[[W]] :
// CHECK-NEXT:      tile.mma_commit
// CHECK-NEXT:      tile.mma_wait 1 for %scores
// CHECK-NOT:       tile.release
// CHECK:           tile.mma_wait 0 for %[[O]], %scores
// CHECK-NEXT:      tile.release %c_pipe[%[[BEFORE]]]
// CHECK:         tile.mma_wait 0 for %[[O]]
// CHECK-NEXT:    tile.release %c_pipe

attn.program @latent dims [h, i, d = 64, j] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %c = attn.input "c" : <[h, j, d], bf16> loc("c")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %c_1 = attn.read %c [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("c")
  %0 = attn.map (%q_2 = %q_0 : !attn.array<[h, i, d], f32>, %c_3 = %c_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_2, %c_3 : f32
    attn.yield %4 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %s = attn.map (%scale_2 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %4 = arith.mulf %scale_2, %arg1 : f32
    attn.yield %4 : f32
  } loc("s")
  %2 = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32>
  %3 = attn.map (%arg0 = %2 : !attn.array<[h, i, j], f32>, %c_2 = %c_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %arg0, %c_2 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %3 : <[h, i, d, j], f32> -> <[h, i, d], f32> loc("o")
  attn.output "o" [h, i, d] %o as bf16 : <[h, i, d], f32>
}
