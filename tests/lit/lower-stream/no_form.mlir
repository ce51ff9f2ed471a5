// RUN: attnc-opt %s --choose-schedules -verify-diagnostics | FileCheck %s

// What the form lacks is said by name, and the nest keeps the generic form.
// CHECK-COUNT-2: schedule {form = "generic", threads = 128 : i64}
attn.program @computed_key dims [i, d = 16, j] {
  %q = attn.input "q" : !attn.array<[i, d], f16>
  %k = attn.input "k" : !attn.array<[j, d], f16>
  // expected-remark @+1 {{generic form: a factor of 's' is not a tensor read along its last axis by the dim that is summed}}
  %m = red.nest grid [] row [i] stream [j] inner [d] : !attn.array<[i], f32> {
    %0 = attn.read %q[i, d] : (!attn.array<[i, d], f16>) -> !attn.array<[i, d], f32>
    %1 = attn.read %k[j, d] : (!attn.array<[j, d], f16>) -> !attn.array<[d, j], f32>
    %2 = attn.map (%x = %1 : !attn.array<[d, j], f32>) -> !attn.array<[d, j], f32> {
      %y = math.absf %x : f32
      attn.yield %y : f32
    }
    %s = red.fold add over [d] (%0, %2) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32> loc("s")
    %3 = red.fold max over [j] (%s) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    red.yield %3 : !attn.array<[i], f32>
  }
  attn.output "m" [i] %m as f32 : !attn.array<[i], f32>
  // expected-remark @+1 {{generic form: it has 0 row dims and 1 stream dims; tiles need one of each}}
  %n = red.nest grid [i] row [] stream [d] inner [] : !attn.array<[i], f32> {
    %0 = attn.read %q[i, d] : (!attn.array<[i, d], f16>) -> !attn.array<[i, d], f32>
    %1 = red.fold add over [d] (%0, %0) : (!attn.array<[i, d], f32>, !attn.array<[i, d], f32>) -> !attn.array<[i], f32>
    red.yield %1 : !attn.array<[i], f32>
  }
  attn.output "n" [i] %n as f32 : !attn.array<[i], f32>
}
