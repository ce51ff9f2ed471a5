// p (grad_p - sum_j p grad_p): of the weights alone, not through a maximum and a sum.
//   p = softmax(j, s)
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=s},canonicalize,cse))' | FileCheck %s

// CHECK:     %p = attn.softmax over [j]
// CHECK:     %[[G:.*]] = attn.read %grad_p [i, j]
// CHECK:     %[[PG:.*]] = attn.map ({{.*}} = %p : {{.*}}, {{.*}} = %[[G]] :
// CHECK-NEXT:  arith.mulf
// CHECK:     %[[C:.*]] = attn.reduce add over [j] %[[PG]] : <[i, j], f32> -> <[i], f32>
// CHECK:     %[[D:.*]] = attn.map ({{.*}} = %[[G]] : {{.*}}, {{.*}} = %[[C]] :
// CHECK-NEXT:  attn.sub
// CHECK:     %grad_s = attn.map ({{.*}} = %p : {{.*}}, {{.*}} = %[[D]] :
// CHECK-NEXT:  arith.mulf
// CHECK-NOT: arith.div
// CHECK-NOT: attn.reduce

attn.program @softmax dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  attn.output "p" [i, j] %p as f32 : <[i, j], f32> loc("p")
}
