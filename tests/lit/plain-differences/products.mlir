// What is subtracted from a sum of products is subtracted as it is: that is a number. An element that
// is read may be -inf, and stays it.
//   o = sum(j, abs(s - m)), s = sum(d, q * k)
//   r = sum(j, abs(x - m))
// RUN: %through-plain-differences %s | FileCheck %s

// CHECK:      red.nest
// CHECK:      attn.sub {{.*}} {attn.plain}
// CHECK:      attn.sub
// CHECK-NOT:  attn.plain

attn.program @distances dims [i, d = 8, j] {
  %q = attn.input "q" : <[i, d], f32>
  %k = attn.input "k" : <[j, d], f32>
  %x = attn.input "x" : <[i, j], f32>
  %m = attn.input "m" : <[i], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[i, d], f32>, %k_5 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %3 = arith.mulf %q_4, %k_5 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32>
  %m_2 = attn.read %m [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  %1 = attn.map (%s_4 = %s : !attn.array<[i, j], f32>, %m_5 = %m_2 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %3 = attn.sub %s_4, %m_5 : f32
    %4 = math.absf %3 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %1 : <[i, j], f32> -> <[i], f32>
  %x_3 = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %2 = attn.map (%x_4 = %x_3 : !attn.array<[i, j], f32>, %m_5 = %m_2 : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %3 = attn.sub %x_4, %m_5 : f32
    %4 = math.absf %3 : f32
    attn.yield %4 : f32
  }
  %r = attn.reduce add over [j] %2 : <[i, j], f32> -> <[i], f32>
  attn.output "o" [i] %o as f32 : <[i], f32>
  attn.output "r" [i] %r as f32 : <[i], f32>
}
