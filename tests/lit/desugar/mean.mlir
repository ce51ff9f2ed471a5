// A mean over two dims is the sum divided by the product of their extents.
//   a = mean((i, j), s)
// RUN: %through-desugar %s | FileCheck %s

// CHECK-NOT: attn.reduce mean
// CHECK:     %a_sum = attn.reduce add over [i, j]
// CHECK:     %[[I:.*]] = attn.size i
// CHECK:     %[[J:.*]] = attn.size j
// CHECK:     attn.map (%[[SUM:.*]] = %a_sum : {{.*}}, %[[NI:.*]] = %[[I]] : {{.*}}, %[[NJ:.*]] = %[[J]] :
// CHECK:       %[[N:.*]] = arith.muli %[[NI]], %[[NJ]] : i64
// CHECK:       %[[F:.*]] = arith.sitofp %[[N]] : i64 to f32
// CHECK:       arith.divf %[[SUM]], %[[F]]

attn.program @mean dims [b, i, j] {
  %s = attn.input "s" : <[b, i, j], f32> loc("s")
  %s_0 = attn.read %s [b, i, j] : (!attn.array<[b, i, j], f32>) -> !attn.array<[b, i, j], f32> loc("s")
  %a = attn.reduce mean over [i, j] %s_0 : <[b, i, j], f32> -> <[b], f32> loc("a")
  attn.output "a" [b] %a as f32 : <[b], f32> loc("a")
}
