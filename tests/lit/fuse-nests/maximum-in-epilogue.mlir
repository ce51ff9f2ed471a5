// A maximum over an inner dim of what the states leave follows the stream, as a sum does.
//   o[i,e] = y / max(e, y)   with y[i,e] = sum(j, softmax(j, s) * v[j,e])
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest {{.*}} stream [j]
// CHECK:       red.fold add over [j]({{.*}}) exp(
// CHECK:       red.fold max over [e]({{.*}} -> !attn.array<[i], f32>
// CHECK-NOT: red.nest
attn.program @largest dims [i, j, e = 24] {
  %s = attn.input "s" : <[i, j], f32>
  %v = attn.input "v" : <[j, e], f32>
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32>
  %v_0 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %w = attn.map (%a = %p : !attn.array<[i, j], f32>, %b = %v_0 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.mulf %a, %b : f32
    attn.yield %1 : f32
  }
  %y = attn.reduce add over [j] %w : <[i, j, e], f32> -> <[i, e], f32>
  %m = attn.reduce max over [e] %y : <[i, e], f32> -> <[i], f32>
  %o = attn.map (%a = %y : !attn.array<[i, e], f32>, %b = %m : !attn.array<[i], f32>) -> !attn.array<[i, e], f32> {
    %1 = arith.divf %a, %b : f32
    attn.yield %1 : f32
  }
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}
