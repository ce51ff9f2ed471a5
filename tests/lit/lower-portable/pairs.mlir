// Values of pairs go out through shared memory, tile by tile: 16 bytes at a time where rows begin at
// multiples of that. A block has a part of the stream.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="through=lower-nests target=sm_80" %s | FileCheck %s

// CHECK-LABEL: tile.kernel @weights_p(
// CHECK:   %stream_part = arith.remsi
// CHECK:   %first_tile{{.*}} = arith.muli %stream_part
// CHECK:   %p_tile = tile.shared
// CHECK:   tile.stream_ahead
// CHECK:     tile.step "pairs"
// CHECK:       %[[P:.*]] = tile.registers
// CHECK:       tile.map
// CHECK:         math.exp
// CHECK:       %[[OWN:.*]] = tile.strip %p_tile
// CHECK:       tile.store_fragment %[[P]] to %[[OWN]]
// CHECK:       tile.barrier
// CHECK:       scf.if %is_aligned
// CHECK:         tile.store_tile %p_tile {{.*}} vector 16
// CHECK:       else
// CHECK:         tile.store_tile %p_tile {{.*}} vector 2
// CHECK-NOT: tile.reduce_rows

attn.program @weights dims [h, i, d = 16, j] {
  %q = attn.input "q" : <[h, i, d], bf16>
  %k = attn.input "k" : <[h, j, d], bf16>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %0 = attn.map (%q_2 = %q_0 : !attn.array<[h, i, d], f32>, %k_3 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %2 = arith.mulf %q_2, %k_3 : f32
    attn.yield %2 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.softmax over [j] %1 : <[h, i, j], f32> -> <[h, i, j], f32>
  attn.output "p" [h, i, j] %p as bf16 : <[h, i, j], f32>
}
