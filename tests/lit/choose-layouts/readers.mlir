// RUN: attnc-opt %s --choose-layouts | FileCheck %s

// What a reader holds whole in its tiles is contiguous: `means` has its channels last, for the
// products that sum over them, and `column` has what the reader's stream runs over. The subscripts of
// the reads follow the axes.
attn.program @landmarks dims [i, d = 16, j, n = 8] {
  %q = attn.input "q" : !attn.array<[i, d], f32>
  %k = attn.input "k" : !attn.array<[j, d], f32>
  // CHECK: %[[MEANS:.*]] = red.nest grid [n] row [d] {{.*}} : !attn.array<[n, d], f32>
  %means = red.nest grid [n] row [d] stream [j] inner [] : !attn.array<[d, n], f32> {
    %0 = attn.read %k[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
    %1 = attn.index n : !attn.array<[n], i64>
    %2 = attn.map (%x = %0 : !attn.array<[d, j], f32>, %y = %1 : !attn.array<[n], i64>) -> !attn.array<[d, j, n], f32> {
      %z = arith.sitofp %y : i64 to f32
      %p = arith.mulf %x, %z : f32
      attn.yield %p : f32
    }
    %3 = red.fold add over [j] (%2) : (!attn.array<[d, j, n], f32>) -> !attn.array<[d, n], f32>
    red.yield %3 : !attn.array<[d, n], f32>
  }
  // CHECK: red.nest grid [] row [i] stream [n] inner [d]
  // CHECK: attn.read %[[MEANS]] [n, d] : (!attn.array<[n, d], f32>) -> !attn.array<[d, n], f32>
  %top = red.nest grid [] row [i] stream [n] inner [d] : !attn.array<[i], f32> {
    %0 = attn.read %q[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
    %1 = attn.read %means[d, n] : (!attn.array<[d, n], f32>) -> !attn.array<[d, n], f32>
    %2 = red.fold add over [d] (%0, %1) : (!attn.array<[i, d], f32>, !attn.array<[d, n], f32>) -> !attn.array<[i, n], f32>
    %3 = red.fold max over [n] (%2) : (!attn.array<[i, n], f32>) -> !attn.array<[i], f32>
    red.yield %3 : !attn.array<[i], f32>
  }
  attn.output "top" [i] %top as f32 : !attn.array<[i], f32>
}

// The nest that stores rows of an inner dim has it last, whatever readers want; an output has the
// order of its own.
// CHECK-LABEL: attn.program @rows
attn.program @rows dims [i, d = 16, e = 8, j] {
  %k = attn.input "k" : !attn.array<[j, d], f32>
  %v = attn.input "v" : !attn.array<[j, e], f32>
  // CHECK: red.nest grid [] row [e] stream [j] inner [d] : !attn.array<[e, d], f32>
  %state = red.nest grid [] row [e] stream [j] inner [d] : !attn.array<[d, e], f32> {
    %0 = attn.read %k[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
    %1 = attn.read %v[j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[e, j], f32>
    %2 = red.fold add over [j] (%0, %1) : (!attn.array<[d, j], f32>, !attn.array<[e, j], f32>) -> !attn.array<[d, e], f32>
    red.yield %2 : !attn.array<[d, e], f32>
  }
  // CHECK: attn.read %{{.*}} [e, d] : (!attn.array<[e, d], f32>) -> !attn.array<[d, e], f32>
  // CHECK: red.yield %{{.*}} : !attn.array<[d], f32>
  %sums = red.nest grid [] row [d] stream [e] inner [] : !attn.array<[d], f32> {
    %0 = attn.read %state[d, e] : (!attn.array<[d, e], f32>) -> !attn.array<[d, e], f32>
    %1 = red.fold add over [e] (%0) : (!attn.array<[d, e], f32>) -> !attn.array<[d], f32>
    red.yield %1 : !attn.array<[d], f32>
  }
  attn.output "sums" [d] %sums as f32 : !attn.array<[d], f32>
}
