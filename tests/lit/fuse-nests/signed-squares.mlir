// Squares of differences from a sum of the pass, weighed by what may have either sign: the running
// sum may be far from what it ends as, and the squares of that distance would have to cancel. It is
// another pass. The same with weights of one sign is a moment.
//   u = sum(j, x * y)
//   r = sum(j, x * (y - u) ** 2)
// RUN: %through-fuse-nests %s | FileCheck %s --check-prefix=SIGNED
// RUN: sed 's/%weight = arith.addf %arg0, %arg0/%weight = arith.mulf %arg0, %arg0/' %s | %through-fuse-nests - | FileCheck %s --check-prefix=SQUARES

// SIGNED:     red.nest
// SIGNED:     red.nest
// SIGNED-NOT:   moment(
// SIGNED:     the squares of differences from it are weighed by values whose sign is not proven, so that it may run far away from where it ends

// SQUARES:      red.nest
// SQUARES:        moment(
// SQUARES-NOT:  red.nest

attn.program @squares dims [i, j] attributes {attn.reference = {i = 9 : i64, j = 9 : i64}} {
  %x = attn.input "x" : <[i, j], f32> loc("x")
  %y = attn.input "y" : <[i, j], f32> loc("y")
  %x_0 = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("x")
  %y_0 = attn.read %y [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("y")
  %w = attn.map (%arg0 = %x_0 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %weight = arith.addf %arg0, %arg0 : f32
    attn.yield %weight : f32
  }
  %0 = attn.map (%arg0 = %w : !attn.array<[i, j], f32>, %arg1 = %y_0 : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %2 = arith.mulf %arg0, %arg1 : f32
    attn.yield %2 : f32
  }
  %u = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("u")
  %1 = attn.map (%arg0 = %w : !attn.array<[i, j], f32>, %arg1 = %y_0 : !attn.array<[i, j], f32>, %arg2 = %u : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %2 = attn.sub %arg1, %arg2 : f32
    %3 = arith.mulf %2, %2 : f32
    %4 = arith.mulf %arg0, %3 : f32
    attn.yield %4 : f32
  }
  %r = attn.reduce add over [j] %1 : <[i, j], f32> -> <[i], f32> loc("r")
  attn.output "r" [i] %r as f32 : <[i], f32> loc("r")
}
