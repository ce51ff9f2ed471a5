// A maximum that cancels, whatever it is, has no gradient; one that does not shares its own among the
// elements that are the maximum, unless that is -inf.
// RUN: attnc-opt %s --split-input-file --mlir-use-nameloc-as-prefix \
// RUN:   --pass-pipeline='builtin.module(attn.program(differentiate{of=s},canonicalize,cse))' | FileCheck %s

// o = sum(j, x v) / sum(j, x), x = exp(s - m)
// CHECK-LABEL: @cancelling
// CHECK:     attn.reduce max
// CHECK:     %grad_o = attn.input
// CHECK-NOT: grad_m
// CHECK-NOT: arith.cmpf oeq, {{.*}}, %m
// CHECK:     %grad_s = attn.map ({{.*}} = %m :

attn.program @cancelling dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %x = attn.map (%s_2 = %s_0 : !attn.array<[i, j], f32>, %m_3 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %3 = attn.sub %s_2, %m_3 : f32
    %4 = math.exp %3 : f32
    attn.yield %4 : f32
  } loc("x")
  %v_1 = attn.read %v [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %0 = attn.map (%x_2 = %x : !attn.array<[i, j], f32>, %v_3 = %v_1 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %3 = arith.mulf %x_2, %v_3 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32>
  %2 = attn.reduce add over [j] %x : <[i, j], f32> -> <[i], f32>
  %o = attn.map (%arg0 = %1 : !attn.array<[i], f32>, %arg1 = %2 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %3 = arith.divf %arg0, %arg1 : f32
    attn.yield %3 : f32
  } loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}

// -----

// o = sum(j, exp(s - m))
// CHECK-LABEL: @staying
// CHECK:     %m = attn.reduce max over [j] %[[S:.*]] :
// CHECK:     %grad_m = attn.reduce add over [j]
// CHECK:     %[[IS:.*]] = attn.map (%[[A:.*]] = %[[S]] : {{.*}}, %[[B:.*]] = %m :
// CHECK-NEXT:  arith.cmpf oeq, %[[A]], %[[B]]
// CHECK:     %[[EXISTS:.*]] = attn.map ({{.*}} = %[[IS]] : {{.*}}, %[[M:.*]] = %m :
// CHECK:       arith.cmpf one, %[[M]],
// CHECK:       arith.andi
// CHECK:     %[[COUNT:.*]] = attn.reduce add over [j]
// CHECK:     attn.map ({{.*}} = %grad_m : {{.*}}, {{.*}} = %[[COUNT]] :
// CHECK-NEXT:  arith.divf
// CHECK:     attn.map ({{.*}} = %[[EXISTS]] :
// CHECK:       arith.select

attn.program @staying dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %0 = attn.map (%s_1 = %s_0 : !attn.array<[i, j], f32>, %m_2 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %1 = attn.sub %s_1, %m_2 : f32
    %2 = math.exp %1 : f32
    attn.yield %2 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("o")
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
