// Kernels are made of updates: without them there are none.
// RUN: not attnc-opt --lower-nests %s 2>&1 | FileCheck %s
// RUN: not attnc-opt --lower-cpu %s 2>&1 | FileCheck %s

// CHECK: has no update; derive-updates comes before kernels
attn.program @largest dims [i, j] {
  %x = attn.input "x" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %m = red.fold max over [j](%xr) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    red.yield %m : !attn.array<[i], f32>
  }
  attn.output "r" [i] %r as f32 : <[i], f32>
}
