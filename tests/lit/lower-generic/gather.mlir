// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// A subscript from data is compared with the extent before anything is read through it; one unsigned
// comparison sees negative ones too. The table itself is read without.
attn.program @gathered dims [n, d, j] {
  %x = attn.input "x" : !attn.array<[n, d], f16>
  %table = attn.input "table" : !attn.array<[j], i32>
  %o = red.nest grid [j, d] row [] stream [] inner [] : !attn.array<[d, j], f32> {
    %t = attn.read %table[j] : (!attn.array<[j], i32>) -> !attn.array<[j], i64>
    %r = attn.read %x[%t, d] else 0.0 {attn.checked = ["table[j]", ""]} : (!attn.array<[n, d], f16>, !attn.array<[j], i64>) -> !attn.array<[d, j], f32>
    red.yield %r : !attn.array<[d, j], f32>
  }
  attn.output "o" [j, d] %o as f32 : !attn.array<[d, j], f32>
}

// A plain index may be the longer one; then it is compared as well, with the other extent.
attn.program @longer dims [n, j] {
  %x = attn.input "x" : !attn.array<[n], f32>
  %o = red.nest grid [j] row [] stream [] inner [] : !attn.array<[j], f32> {
    %r = attn.read %x[j] else 0.0 : (!attn.array<[n], f32>) -> !attn.array<[j], f32>
    red.yield %r : !attn.array<[j], f32>
  }
  attn.output "o" [j] %o as f32 : !attn.array<[j], f32>
}

// CHECK-LABEL: tile.kernel @gathered_o
// CHECK-SAME: "table" = %[[TABLE:[a-z0-9]+]]: !tile.ptr<i32>
// CHECK-SAME: "x" = %[[X:[a-z0-9]+]]: !tile.ptr<f16>
// CHECK-SAME: "size_n" = %[[N:[a-z0-9]+]]: i64
// CHECK: %[[AT:.*]] = tile.load %[[TABLE]][%{{.*}}] : <i32> -> i64
// CHECK: %[[FITS:.*]] = arith.cmpi ult, %[[AT]], %[[N]] : i64
// CHECK-NEXT: scf.if %[[FITS]] -> (f32)
// CHECK: tile.load %[[X]]
// CHECK: } else {
// CHECK-NEXT: arith.constant 0.000000e+00 : f32

// CHECK-LABEL: tile.kernel @longer_o
// CHECK-SAME: "size_n" = %[[N:[a-z0-9]+]]: i64
// CHECK: %[[FITS:.*]] = arith.cmpi ult, %{{.*}}, %[[N]] : i64
// CHECK-NEXT: scf.if %[[FITS]] -> (f32)
