// What is printed after a pass is what the pipeline up to that pass gives, and what it begins again
// from gives the same kernels.
// RUN: %through-mask-intervals %s -o %t.through
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline=target=sm_80 %s -o %t.whole \
// RUN:   --mlir-print-ir-after=mask-intervals --mlir-print-ir-module-scope --mlir-disable-threading 2> %t.dump
// RUN: FileCheck %s < %t.dump
// RUN: sed -e 1d -e '/^$/d' %t.dump > %t.ir
// RUN: sed '/^$/d' %t.through | diff - %t.ir
// RUN: attnc-opt --attnc-pipeline='from=outline-epilogue target=sm_80' %t.ir -o %t.kernels
// RUN: attnc-opt %t.whole | diff - %t.kernels

// CHECK:     IR Dump After mask-intervals (mask-intervals)
// CHECK-NOT: IR Dump

attn.program @softmax_sugar dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>, %arg1 = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
