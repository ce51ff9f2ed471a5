// RUN: attnc-opt %s --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s

// A vector of f32 along the stream arrives with the tiles, a row for each of them, whatever its extent.
// One of f64 is read where it is needed.
// CHECK-LABEL: tile.kernel @vectors_o(
// CHECK-SAME: "y" = %[[Y:[a-z0-9]+]]: !tile.ptr<f32>
// CHECK: %[[RING:.*]] = tile.shared at {{[0-9]+}} : !tile.ring<2, <1, [[C:[0-9]+]], f32>>
// CHECK: tile.copy %[[Y]][%{{.*}}] stride %c0_i64{{.*}} rows %c1_i32{{.*}} cols %{{.*}} to %{{.*}} vector 4 : <f32> -> <1, [[C]], f32>
// CHECK: tile.commit
// CHECK: tile.stage %[[RING]]
// CHECK: tile.map rows(%{{.*}} cols(%[[J0:.*]] as %[[J:[a-z0-9]+]])
// CHECK-DAG: %[[COL:.*]] = arith.subi %[[J]], %[[J0]] : i32
// CHECK: tile.peek %{{.*}}[%c0_i32{{.*}}, %[[COL]]] : <1, [[C]], f32>
// CHECK: tile.load
attn.program @vectors dims [b, i, d = 64, j, e = 64] {
  %q = attn.input "q" : !attn.array<[b, i, d], bf16>
  %k = attn.input "k" : !attn.array<[b, j, d], bf16>
  %v = attn.input "v" : !attn.array<[b, j, e], bf16>
  %y = attn.input "y" : !attn.array<[b, j], f32>
  %z = attn.input "z" : !attn.array<[b, j], f64>
  %o = red.nest grid [b] row [i] stream [j] inner [d, e] : !attn.array<[b, i, e], f32> {
    %qr = attn.read %q[b, i, d] : (!attn.array<[b, i, d], bf16>) -> !attn.array<[b, i, d], f32>
    %kr = attn.read %k[b, j, d] : (!attn.array<[b, j, d], bf16>) -> !attn.array<[b, d, j], f32>
    %vr = attn.read %v[b, j, e] : (!attn.array<[b, j, e], bf16>) -> !attn.array<[b, j, e], f32>
    %yr = attn.read %y[b, j] : (!attn.array<[b, j], f32>) -> !attn.array<[b, j], f32>
    %zr = attn.read %z[b, j] : (!attn.array<[b, j], f64>) -> !attn.array<[b, j], f64>
    %s = red.fold add over [d] (%qr, %kr) : (!attn.array<[b, i, d], f32>, !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, j], f32>
    %w = attn.map (%x = %s : !attn.array<[b, i, j], f32>, %yy = %yr : !attn.array<[b, j], f32>, %zz = %zr : !attn.array<[b, j], f64>) -> !attn.array<[b, i, j], f32> {
      %narrow = arith.truncf %zz : f64 to f32
      %p = arith.mulf %x, %yy : f32
      %r = arith.mulf %p, %narrow : f32
      attn.yield %r : f32
    }
    %a = red.fold add over [j] (%w, %vr) : (!attn.array<[b, i, j], f32>, !attn.array<[b, j, e], f32>) -> !attn.array<[b, i, e], f32> loc("o")
    red.yield %a : !attn.array<[b, i, e], f32>
  } loc("o")
  attn.output "o" [b, i, e] %o as bf16 : !attn.array<[b, i, e], f32>
}
