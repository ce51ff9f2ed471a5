// A pass without products of matrices has no operands to name where a tile does not fit.
// RUN: not attnc-opt %s '--choose-schedules=target=sm_80 override={{"row_tile":64,"stream_tile":128,"min_blocks":8}}' 2>&1 | FileCheck %s
// CHECK: schedule: a pass without products of matrices with row_tile 64, stream_tile 128, 2 stages, 8 blocks at a time needs about {{[0-9]+}} registers a thread, sm_80 has {{[0-9]+}}: stream_tile 32 fits
attn.program @sums dims [b, i, j] {
  %w = attn.input "w" : !attn.array<[b, i, j], f32>
  %s = red.nest grid [b] row [i] stream [j] inner [] schedule(#tile.portable) : !attn.array<[b, i], f32> {
    %wr = attn.read %w[b, i, j] : (!attn.array<[b, i, j], f32>) -> !attn.array<[b, i, j], f32>
    %x = attn.map (%e = %wr : !attn.array<[b, i, j], f32>) -> !attn.array<[b, i, j], f32> {
      %y = math.exp %e : f32
      attn.yield %y : f32
    }
    %sum = red.fold add over [j] (%x) : (!attn.array<[b, i, j], f32>) -> !attn.array<[b, i], f32>
    red.yield %sum : !attn.array<[b, i], f32>
  }
  attn.output "s" [b, i] %s as f32 : !attn.array<[b, i], f32>
}
