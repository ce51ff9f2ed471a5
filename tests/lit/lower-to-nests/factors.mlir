// Factors and divisors that do not vary along a sum leave it, through negations and choices of 0 that absorb; the
// choice comes back outside. A divisor that does vary stays, and so does a sum of exponentials.
// RUN: %through-lower-to-nests %s | FileCheck %s

// CHECK-LABEL: attn.program @factors
// CHECK: red.fold add over [j](%{{.*}}, %{{.*}}) : (!attn.array<[i, j], f32>, !attn.array<[j], f32>)
// CHECK: attn.map
// CHECK-NEXT: %[[Q:.*]] = arith.divf %[[SUM:.*]], %{{.*}} : f32
// CHECK: arith.cmpf oeq, %[[SUM]]
// CHECK-NEXT: %[[KEPT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[Q]] {attn.absorbs} : f32
// CHECK-NEXT: arith.negf %[[KEPT]] : f32
attn.program @factors dims [i, j] {
  %x = attn.input "x" : <[i, j], f32> loc("x")
  %y = attn.input "y" : <[j], f32> loc("y")
  %c = attn.input "c" : <[i], f32> loc("c")
  %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("x")
  %yr = attn.read %y [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32> loc("y")
  %cr = attn.read %c [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32> loc("c")
  %e = attn.map (%a = %xr : !attn.array<[i, j], f32>, %b = %cr : !attn.array<[i], f32>, %d = %yr : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %zero = arith.constant 0.0 : f32
    %q = arith.divf %a, %b : f32
    %is = arith.cmpf oeq, %a, %zero : f32
    %k = arith.select %is, %zero, %q {attn.absorbs} : f32
    %n = arith.negf %k : f32
    %p = arith.mulf %n, %d : f32
    attn.yield %p : f32
  }
  %s = attn.reduce add over [j] %e : <[i, j], f32> -> <[i], f32> loc("s")
  attn.output "s" [i] %s as f32 : <[i], f32> loc("s")
}
