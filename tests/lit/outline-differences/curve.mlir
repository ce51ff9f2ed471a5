// A curve over the difference of the indices, which is added to a score, is an array of its own; what
// is read is one already, and a slope times the difference stays where it is. Other targets have no
// tables, and maps stay whole.
// RUN: attnc compile %S/../../e2e/specs/differences.json --target sm_90a --emit red | FileCheck %s
// RUN: attnc compile %S/../../e2e/specs/differences.json --target sm_80 --emit red | FileCheck %s --check-prefix=WHOLE

// CHECK:      %t = attn.map
// CHECK:      arith.sitofp
// CHECK:      attn.yield
// CHECK:      %[[CURVE:[0-9]+]] = attn.map ({{.*}}) -> !attn.array<[h, i, j], f32> {
// CHECK-NEXT: arith.subi
// CHECK-NEXT: arith.sitofp
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: attn.yield
// CHECK:      %p_logits = attn.map (%{{[^ ]+}} = %t : !attn.array<[b, h, i, j], f32>, %{{[^ ]+}} = %[[CURVE]] : !attn.array<[h, i, j], f32>)
// CHECK-NEXT: arith.addf

// WHOLE:     %p_logits = attn.map
// WHOLE-NOT: attn.map
// WHOLE:     math.tanh
