// A pass over a sequence moves behind small nests that do not need it, up to the first nest that does. What
// is small stays where it is, and so does a pass that only others follow.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="from=order-nests through=order-nests" %s | FileCheck %s

// CHECK: %first = red.nest grid [m] row [] stream [j]
// CHECK: %small = red.nest grid [m] row [] stream [n]
// CHECK: %long = red.nest grid [m] row [] stream [j]
// CHECK: %both = red.nest grid [m]
// CHECK: %last = red.nest grid [m] row [] stream [j]
attn.program @landmarks dims [m = 8, n = 8, j] {
  %k = attn.input "k" : <[m, j], f32>
  %w = attn.input "w" : <[m, n], f32>
  %first = red.nest grid [m] row [] stream [j] inner [] : !attn.array<[m], f32> {
    %0 = attn.read %k [m, j] : (!attn.array<[m, j], f32>) -> !attn.array<[m, j], f32>
    %1 = red.fold add over [j](%0) : (!attn.array<[m, j], f32>) -> !attn.array<[m], f32>
    red.yield %1 : !attn.array<[m], f32>
  } loc("first")
  %long = red.nest grid [m] row [] stream [j] inner [] : !attn.array<[m], f32> {
    %0 = attn.read %k [m, j] : (!attn.array<[m, j], f32>) -> !attn.array<[m, j], f32>
    %1 = attn.read %first [m] : (!attn.array<[m], f32>) -> !attn.array<[m], f32>
    %2 = red.fold add over [j](%0, %1) : (!attn.array<[m, j], f32>, !attn.array<[m], f32>) -> !attn.array<[m], f32>
    red.yield %2 : !attn.array<[m], f32>
  } loc("long")
  %small = red.nest grid [m] row [] stream [n] inner [] : !attn.array<[m], f32> {
    %0 = attn.read %w [m, n] : (!attn.array<[m, n], f32>) -> !attn.array<[m, n], f32>
    %1 = attn.read %first [m] : (!attn.array<[m], f32>) -> !attn.array<[m], f32>
    %2 = red.fold add over [n](%0, %1) : (!attn.array<[m, n], f32>, !attn.array<[m], f32>) -> !attn.array<[m], f32>
    red.yield %2 : !attn.array<[m], f32>
  } loc("small")
  %both = red.nest grid [m] row [] stream [] inner [] : !attn.array<[m], f32> {
    %0 = attn.read %small [m] : (!attn.array<[m], f32>) -> !attn.array<[m], f32>
    %1 = attn.read %long [m] : (!attn.array<[m], f32>) -> !attn.array<[m], f32>
    %2 = attn.map (%a = %0 : !attn.array<[m], f32>, %b = %1 : !attn.array<[m], f32>) -> !attn.array<[m], f32> {
      %3 = arith.addf %a, %b : f32
      attn.yield %3 : f32
    }
    red.yield %2 : !attn.array<[m], f32>
  } loc("both")
  %last = red.nest grid [m] row [] stream [j] inner [] : !attn.array<[m], f32> {
    %0 = attn.read %k [m, j] : (!attn.array<[m, j], f32>) -> !attn.array<[m, j], f32>
    %1 = attn.read %both [m] : (!attn.array<[m], f32>) -> !attn.array<[m], f32>
    %2 = red.fold max over [j](%0) : (!attn.array<[m, j], f32>) -> !attn.array<[m], f32>
    red.yield %2 : !attn.array<[m], f32>
  } loc("last")
  attn.output "o" [m] %both as f32 : <[m], f32>
  attn.output "l" [m] %last as f32 : <[m], f32>
}
