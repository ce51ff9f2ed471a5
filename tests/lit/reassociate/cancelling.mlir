// sum_j (sum_d g f) v becomes sum_d g (sum_j f v). Products over d that may cancel make small sums of
// what is large in the inner sum: that is marked with d, and rounds no f to 16 bits. Features that are
// positive on both sides of a condition do not cancel.
//   o[i,e] = sum(j, sum(d, g[i,d] * f[j,d]) * v[j,e])
// RUN: %through-reassociate %s --split-input-file | FileCheck %s

// One factor's sign is unknown.
// CHECK-LABEL: attn.program @signed
// CHECK: red.fold add over [j]({{.*}} {red.cancels = ["d"]} : {{.*}} -> !attn.array<[d, e], f32>
// CHECK: red.fold add over [d]
// CHECK-NOT: red.cancels

attn.program @signed dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], f32>
  %k = attn.input "k" : <[j, d], bf16>
  %v = attn.input "v" : <[j, e], bf16>
  %0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %1 = attn.read %k [j, d] : (!attn.array<[j, d], bf16>) -> !attn.array<[d, j], f32>
  %2 = attn.map (%x = %1 : !attn.array<[d, j], f32>) -> !attn.array<[d, j], f32> {
    %6 = math.exp %x : f32
    attn.yield %6 : f32
  }
  %s = red.fold add over [d](%0, %2) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32>
  %3 = attn.read %v [j, e] : (!attn.array<[j, e], bf16>) -> !attn.array<[j, e], f32>
  %o = red.fold add over [j](%s, %3) : (!attn.array<[i, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[i, e], f32>
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}

// -----

// where(x > 0, x + 1, exp(x)) and where(-1 > x, -x, 0.5).
// CHECK-LABEL: attn.program @positive
// CHECK-NOT: red.cancels

attn.program @positive dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], bf16>
  %k = attn.input "k" : <[j, d], bf16>
  %v = attn.input "v" : <[j, e], bf16>
  %0 = attn.read %q [i, d] : (!attn.array<[i, d], bf16>) -> !attn.array<[i, d], f32>
  %g = attn.map (%x = %0 : !attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %above = arith.cmpf ogt, %x, %zero : f32
    %6 = arith.addf %x, %one : f32
    %7 = math.exp %x : f32
    %8 = arith.select %above, %6, %7 : f32
    attn.yield %8 : f32
  }
  %1 = attn.read %k [j, d] : (!attn.array<[j, d], bf16>) -> !attn.array<[d, j], f32>
  %f = attn.map (%x = %1 : !attn.array<[d, j], f32>) -> !attn.array<[d, j], f32> {
    %bound = arith.constant -1.0 : f32
    %half = arith.constant 0.5 : f32
    %below = arith.cmpf ogt, %bound, %x : f32
    %6 = arith.negf %x : f32
    %7 = arith.select %below, %6, %half : f32
    attn.yield %7 : f32
  }
  %s = red.fold add over [d](%g, %f) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32>
  %3 = attn.read %v [j, e] : (!attn.array<[j, e], bf16>) -> !attn.array<[j, e], f32>
  %o = red.fold add over [j](%s, %3) : (!attn.array<[i, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[i, e], f32>
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}

// -----

// The same choice on its other side: where(x > 0, exp(x), x + 1) may be negative.
// CHECK-LABEL: attn.program @other_side
// CHECK: red.cancels = ["d"]

attn.program @other_side dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], bf16>
  %k = attn.input "k" : <[j, d], bf16>
  %v = attn.input "v" : <[j, e], bf16>
  %0 = attn.read %q [i, d] : (!attn.array<[i, d], bf16>) -> !attn.array<[i, d], f32>
  %g = attn.map (%x = %0 : !attn.array<[i, d], f32>) -> !attn.array<[i, d], f32> {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %above = arith.cmpf ogt, %x, %zero : f32
    %6 = arith.addf %x, %one : f32
    %7 = math.exp %x : f32
    %8 = arith.select %above, %7, %6 : f32
    attn.yield %8 : f32
  }
  %1 = attn.read %k [j, d] : (!attn.array<[j, d], bf16>) -> !attn.array<[d, j], f32>
  %f = attn.map (%x = %1 : !attn.array<[d, j], f32>) -> !attn.array<[d, j], f32> {
    %6 = math.exp %x : f32
    attn.yield %6 : f32
  }
  %s = red.fold add over [d](%g, %f) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32>
  %3 = attn.read %v [j, e] : (!attn.array<[j, e], bf16>) -> !attn.array<[j, e], f32>
  %o = red.fold add over [j](%s, %3) : (!attn.array<[i, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[i, e], f32>
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}
