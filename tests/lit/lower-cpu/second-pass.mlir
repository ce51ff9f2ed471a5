// What depends on a state for every element of the stream cannot be computed in the same pass.
// RUN: not attnc-opt --derive-updates --lower-cpu %s 2>&1 | FileCheck %s

// CHECK: error: value 'p' needs a second pass over its stream

attn.program @softmax dims [i, j] {
  %x = attn.input "x" : !attn.array<[i, j], f32>
  %p = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i, j], f32> {
    %0 = attn.read %x[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %1 = red.fold max over [j] (%0) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    %2 = attn.map (%a = %0 : !attn.array<[i, j], f32>, %m = %1 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
      %w = attn.sub %a, %m : f32
      attn.yield %w : f32
    } loc("p")
    red.yield %2 : !attn.array<[i, j], f32>
  }
  attn.output "p" [i, j] %p as f32 : !attn.array<[i, j], f32>
}
