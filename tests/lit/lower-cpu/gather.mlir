// A subscript from data is compared with the extent, once for each of its values, before it is used.
// RUN: attnc-opt --derive-updates --lower-cpu %s | FileCheck %s

// CHECK-LABEL: llvm.func @nest0_{{.*}}gathered(
// CHECK:         %[[AT:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK:         %[[FITS:.*]] = arith.cmpi ult, %[[AT]], %{{.*}} : i64
// CHECK:         scf.if %[[FITS]] -> (f32)
// CHECK:           llvm.load
// CHECK:         } else {
// CHECK:           arith.constant 7.000000e+00 : f32

attn.program @rows dims [n, j] {
  %x = attn.input "x" : !attn.array<[n], f32>
  %table = attn.input "table" : !attn.array<[j], i32>
  %o = red.nest grid [j] row [] stream [] inner [] : !attn.array<[j], f32> {
    %t = attn.read %table[j] : (!attn.array<[j], i32>) -> !attn.array<[j], i64>
    %r = attn.read %x[%t] else 7.0 : (!attn.array<[n], f32>, !attn.array<[j], i64>) -> !attn.array<[j], f32>
    red.yield %r : !attn.array<[j], f32>
  }
  attn.output "gathered" [j] %o as f32 : !attn.array<[j], f32>
}
