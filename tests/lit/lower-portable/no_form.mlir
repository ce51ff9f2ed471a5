// RUN: attnc-opt %s --choose-schedules -verify-diagnostics | FileCheck %s

// What the form lacks is said by name, and the nest has another form.
// CHECK-COUNT-2: schedule(#tile.rows<
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
}
