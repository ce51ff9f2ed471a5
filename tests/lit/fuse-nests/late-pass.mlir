// The weights of a pass do not need `top`, which another pass finds; the values do. The first pass
// waits for the second, so that weights and values share it.
//   o[i,e] = sum(j, softmax(j, s) * tanh(v[j,e] + top[e]))   with top[e] = max(i, x[i,e])
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     %[[TOP:.*]] = red.nest {{.*}} stream [i]
// CHECK:     red.nest {{.*}} stream [j]
// CHECK-DAG:   red.fold max over [j]
// CHECK-DAG:   attn.read %[[TOP]] [e]
// CHECK-NOT: red.nest
attn.program @late dims [i, d = 16, j, e = 24] {
  %q = attn.input "q" : <[i, d], f32>
  %k = attn.input "k" : <[j, d], f32>
  %v = attn.input "v" : <[j, e], f32>
  %x = attn.input "x" : <[i, e], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[i, d], f32>, %k_5 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %3 = arith.mulf %q_4, %k_5 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32>
  %p = attn.softmax over [j] %1 : <[i, j], f32> -> <[i, j], f32>
  %x_2 = attn.read %x [i, e] : (!attn.array<[i, e], f32>) -> !attn.array<[i, e], f32>
  %top = attn.reduce max over [i] %x_2 : <[i, e], f32> -> <[e], f32>
  %v_3 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
  %2 = attn.map (%p_4 = %p : !attn.array<[i, j], f32>, %v_5 = %v_3 : !attn.array<[j, e], f32>, %top_6 = %top : !attn.array<[e], f32>) -> !attn.array<[i, j, e], f32> {
    %3 = arith.addf %v_5, %top_6 : f32
    %4 = math.tanh %3 : f32
    %5 = arith.mulf %p_4, %4 : f32
    attn.yield %5 : f32
  }
  %o = attn.reduce add over [j] %2 : <[i, j, e], f32> -> <[i, e], f32>
  attn.output "o" [i, e] %o as f32 : <[i, e], f32>
}
