// A minimum that is compared with its elements is one of them to the last digit: it is taken of what is
// compared, by a pass of its own, and not by a state of the pass that the elements wait for.
//   m = max(j, s)
//   p = exp(s - m) / sum(j, exp(s - m))
//   r = min(j, p)
//   o = sum(j, where(p == r, v, 0))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest
// CHECK:       red.fold max over [j]
// CHECK:       red.fold add over [j]
// CHECK:     red.nest
// CHECK:       %p = attn.map
// CHECK-NEXT:    arith.divf {{.*}} {attn.exact}
// CHECK:       red.fold min over [j](%p)
// CHECK:     red.nest
// CHECK:       %p = attn.map
// CHECK-NEXT:    arith.divf {{.*}} {attn.exact}
// CHECK:       attn.map (%[[X:.*]] = %p : {{.*}}, %[[R:.*]] = %r
// CHECK-NEXT:    arith.cmpf oeq, %[[X]], %[[R]]
// CHECK-NOT: red.nest

attn.program @compared_elements dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %v_0 = attn.read %v [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32> loc("v")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %x = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %0 = attn.sub %arg0, %arg1 : f32
    %1 = math.exp %0 : f32
    attn.yield %1 : f32
  } loc("x")
  %z = attn.reduce add over [j] %x : <[i, j], f32> -> <[i], f32> loc("z")
  %p = attn.map (%arg0 = %x : !attn.array<[i, j], f32>, %arg1 = %z : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %0 = arith.divf %arg0, %arg1 : f32
    attn.yield %0 : f32
  } loc("p")
  %r = attn.reduce min over [j] %p : <[i, j], f32> -> <[i], f32> loc("r")
  %picked = attn.map (%arg0 = %p : !attn.array<[i, j], f32>, %arg1 = %r : !attn.array<[i], f32>, %arg2 = %v_0 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %0 = arith.cmpf oeq, %arg0, %arg1 : f32
    %zero = arith.constant 0.0 : f32
    %1 = arith.select %0, %arg2, %zero : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %picked : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
