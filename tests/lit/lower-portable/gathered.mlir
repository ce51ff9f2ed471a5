// RUN: attnc-opt %s --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s

// Keys whose rows a table names are copied ahead of their use, each row from where it lies, and zeros
// where the table names none: here a row is of a page that the tensor has. Where the column depends on
// the data as well, the tile is computed element by element.
// CHECK-LABEL: tile.kernel @gathered_o(
// CHECK-SAME: "table" = %[[TABLE:[a-z0-9]+]]: !tile.ptr<i32>
// CHECK-SAME: "k" = %[[K:[a-z0-9]+]]: !tile.ptr<bf16>
// CHECK: %[[RING:.*]] = tile.shared at {{[0-9]+}} : !tile.ring<2, <[[R:[0-9]+]], 64, bf16>>
// CHECK: tile.copy_rows %[[K]] rows %{{.*}} to %{{.*}} vector 16 : <bf16> -> <[[R]], 64, bf16> {
// CHECK: ^bb0(%[[J:.*]]: i32):
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[J]], %{{.*}} : i32
// CHECK: tile.load %[[TABLE]][
// CHECK: arith.cmpi ult
// CHECK: tile.yield %{{.*}}, %{{.*}} : i64, i1
// CHECK: tile.commit
// CHECK: tile.tabulate %{{.*}} : <[[R]], 64, bf16>
attn.program @gathered dims [b, i, d = 64, j, e = 64, n] {
  %q = attn.input "q" : !attn.array<[b, i, d], bf16>
  %k = attn.input "k" : !attn.array<[n, d], bf16>
  %v = attn.input "v" : !attn.array<[n, e], bf16>
  %table = attn.input "table" : !attn.array<[b, j], i32>
  %o = red.nest grid [b] row [i] stream [j] inner [d, e] : !attn.array<[b, i, e], f32> {
    %wide = attn.read %table[b, j] : (!attn.array<[b, j], i32>) -> !attn.array<[b, j], i64>
    %column = attn.index e : !attn.array<[e], i64>
    %turned = attn.map (%x = %column : !attn.array<[e], i64>) -> !attn.array<[e], i64> {
      %c63 = arith.constant 63 : i64
      %y = arith.subi %c63, %x : i64
      attn.yield %y : i64
    }
    %qr = attn.read %q[b, i, d] : (!attn.array<[b, i, d], bf16>) -> !attn.array<[b, i, d], f32>
    %kr = attn.read %k[%wide, d] else 0.0 : (!attn.array<[n, d], bf16>, !attn.array<[b, j], i64>) -> !attn.array<[b, d, j], f32>
    %vr = attn.read %v[%wide, %turned] else 0.0 : (!attn.array<[n, e], bf16>, !attn.array<[b, j], i64>, !attn.array<[e], i64>) -> !attn.array<[b, j, e], f32>
    %s = red.fold add over [d] (%qr, %kr) : (!attn.array<[b, i, d], f32>, !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, j], f32>
    %a = red.fold add over [j] (%s, %vr) : (!attn.array<[b, i, j], f32>, !attn.array<[b, j, e], f32>) -> !attn.array<[b, i, e], f32> loc("o")
    red.yield %a : !attn.array<[b, i, e], f32>
  } loc("o")
  attn.output "o" [b, i, e] %o as bf16 : !attn.array<[b, i, e], f32>
}
