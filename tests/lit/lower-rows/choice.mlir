// RUN: attnc-opt %s --choose-schedules -verify-diagnostics | FileCheck %s
// RUN: attnc-opt --pass-pipeline='builtin.module(choose-schedules{override={{"rows": 2, "stream_tile": 40, "threads": 64}}})' %s | FileCheck %s --check-prefix=ASKED

// Values of pairs are no tiles; a block has as many rows as fill its threads with 16 elements each.
// CHECK: schedule(#tile.rows<threads = 128, rows = 8, stream_tile = 32>)
// A sum without inner dims.
// CHECK: schedule(#tile.rows<threads = 128, rows = 4, stream_tile = 64>)
// No stream: nothing is shared.
// CHECK: schedule(#tile.generic<threads = 128>)
// ASKED: schedule(#tile.rows<threads = 64, rows = 2, stream_tile = 40>)
// ASKED: schedule(#tile.rows<threads = 64, rows = 2, stream_tile = 40>)
// ASKED: schedule(#tile.generic<threads = 128>)
attn.program @values_of_pairs dims [i, e = 16, j] {
  %p = attn.input "p" : !attn.array<[i, j], f16>
  %v = attn.input "v" : !attn.array<[i, j, e], f16>
  // expected-remark @+1 {{rows form: a factor of 'o' is not a tensor read along its last axis by an inner dim}}
  %m = red.nest grid [] row [i] stream [j] inner [e] : !attn.array<[i, e], f32> {
    %0 = attn.read %p[i, j] : (!attn.array<[i, j], f16>) -> !attn.array<[i, j], f32>
    %1 = attn.read %v[i, j, e] : (!attn.array<[i, j, e], f16>) -> !attn.array<[i, e, j], f32>
    %o = red.fold add over [j] (%0, %1) : (!attn.array<[i, j], f32>, !attn.array<[i, e, j], f32>) -> !attn.array<[i, e], f32> loc("o")
    red.yield %o : !attn.array<[i, e], f32>
  }
  attn.output "m" [i, e] %m as f32 : !attn.array<[i, e], f32>
  // expected-remark @+1 {{rows form: it has 0 row dims and 1 stream dims; tiles need one of each}}
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[i], f32> {
    %0 = attn.read %p[i, j] : (!attn.array<[i, j], f16>) -> !attn.array<[i, j], f32>
    %1 = red.fold add over [j] (%0, %0) : (!attn.array<[i, j], f32>, !attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    red.yield %1 : !attn.array<[i], f32>
  }
  attn.output "n" [i] %n as f32 : !attn.array<[i], f32>
  // expected-remark @+1 {{generic form: it has 0 row dims and 0 stream dims; tiles need one of each}}
  %t = red.nest grid [i, j] row [] stream [] inner [] : !attn.array<[i, j], f32> {
    %0 = attn.read %p[i, j] : (!attn.array<[i, j], f16>) -> !attn.array<[i, j], f32>
    red.yield %0 : !attn.array<[i, j], f32>
  }
  attn.output "t" [i, j] %t as f32 : !attn.array<[i, j], f32>
}
