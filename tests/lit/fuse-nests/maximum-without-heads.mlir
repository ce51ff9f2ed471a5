// An exponent that all heads share has a maximum that they share: the pass is parallel over heads
// all the same, and the second sum joins it.
//   x = s[h,i,j] * exp(b[i,j]);   o = sum(j, x * v) / sum(j, x)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest {{.*}} stream [j]
// CHECK:       %[[M:.*]] = red.fold max over [j]({{.*}} -> !attn.array<[i], f32>
// CHECK:       red.fold add over [j]({{.*}}) exp({{.*}} - %[[M]]
// CHECK:       red.fold add over [j]({{.*}}) exp({{.*}} - %[[M]]
// CHECK-NOT: red.nest
attn.program @decayed dims [h, i, j, e = 8] {
  %s = attn.input "s" : <[h, i, j], f32>
  %b = attn.input "b" : <[i, j], f32>
  %v = attn.input "v" : <[j, e], f32>
  %s_0 = attn.read %s [h, i, j] : (!attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32>
  %b_0 = attn.read %b [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %v_0 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %x = attn.map (%a = %s_0 : !attn.array<[h, i, j], f32>, %c = %b_0 : !attn.array<[i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %1 = math.exp %c : f32
    %2 = arith.mulf %a, %1 : f32
    attn.yield %2 : f32
  }
  %w = attn.map (%a = %x : !attn.array<[h, i, j], f32>, %c = %v_0 : !attn.array<[j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %1 = arith.mulf %a, %c : f32
    attn.yield %1 : f32
  }
  %y = attn.reduce add over [j] %w : <[h, i, j, e], f32> -> <[h, i, e], f32>
  %z = attn.reduce add over [j] %x : <[h, i, j], f32> -> <[h, i], f32>
  %o = attn.map (%a = %y : !attn.array<[h, i, e], f32>, %c = %z : !attn.array<[h, i], f32>) -> !attn.array<[h, i, e], f32> {
    %1 = arith.divf %a, %c : f32
    attn.yield %1 : f32
  }
  attn.output "o" [h, i, e] %o as f32 : <[h, i, e], f32>
}
