// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// A long product of a factor with rows and one with columns: a thread has four of each, whose
// elements are read once for all 16 sums.
attn.program @product dims [j, i, d = 32] {
  %x = attn.input "x" : !attn.array<[i, d], f32>
  %y = attn.input "y" : !attn.array<[j, d], f32>
  %s = red.nest grid [j, i] row [] stream [] inner [d] schedule(#tile.generic<threads = 128>) : !attn.array<[j, i], f32> {
    %0 = attn.read %x[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
    %1 = attn.read %y[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[j, d], f32>
    %2 = red.fold add over [d] (%0, %1) : (!attn.array<[i, d], f32>, !attn.array<[j, d], f32>) -> !attn.array<[j, i], f32>
    red.yield %2 : !attn.array<[j, i], f32>
  }
  attn.output "s" [j, i] %s as f32 : !attn.array<[j, i], f32>
}

// Results of different points have threads of their own: none is computed again for a dim of the
// other. One whose dims are among those of another is stored with it, where the rest is 0.
attn.program @both dims [p, b, e, c] attributes {red.part_dims = ["p"]} {
  %x = attn.input "x" : !attn.array<[p, b, e], f32>
  %y = attn.input "y" : !attn.array<[p, b, c], f32>
  %w = attn.input "w" : !attn.array<[p, b], f32>
  %r:3 = red.nest grid [b, e, c] row [] stream [p] inner [] schedule(#tile.generic<threads = 128>) : !attn.array<[b, e], f32>, !attn.array<[b, c], f32>, !attn.array<[b], f32> {
    %0 = attn.read %x[p, b, e] : (!attn.array<[p, b, e], f32>) -> !attn.array<[p, b, e], f32>
    %1 = attn.read %y[p, b, c] : (!attn.array<[p, b, c], f32>) -> !attn.array<[p, b, c], f32>
    %2 = attn.read %w[p, b] : (!attn.array<[p, b], f32>) -> !attn.array<[p, b], f32>
    %3 = red.fold add over [p] (%0) : (!attn.array<[p, b, e], f32>) -> !attn.array<[b, e], f32>
    %4 = red.fold add over [p] (%1) : (!attn.array<[p, b, c], f32>) -> !attn.array<[b, c], f32>
    %5 = red.fold add over [p] (%2) : (!attn.array<[p, b], f32>) -> !attn.array<[b], f32>
    red.yield %3, %4, %5 : !attn.array<[b, e], f32>, !attn.array<[b, c], f32>, !attn.array<[b], f32>
  }
  attn.output "o" [b, e] %r#0 as f32 : !attn.array<[b, e], f32>
  attn.output "u" [b, c] %r#1 as f32 : !attn.array<[b, c], f32>
  attn.output "l" [b] %r#2 as f32 : !attn.array<[b], f32>
}

// CHECK-LABEL: tile.kernel @product_s
// CHECK-SAME: "x" = %[[X:[a-z0-9]+]]
// CHECK-SAME: "y" = %[[Y:[a-z0-9]+]]
// CHECK-SAME: grid {{\[\[}}"ceildiv", ["mul", ["ceildiv", ["size", "j"], 4], ["ceildiv", ["size", "i"], 4]], 128]]
// CHECK: %{{.*}}:16 = scf.for
// CHECK-DAG: tile.load %[[X]]
// CHECK-DAG: tile.load %[[X]]
// CHECK-DAG: tile.load %[[X]]
// CHECK-DAG: tile.load %[[X]]
// CHECK-DAG: tile.load %[[Y]]
// CHECK-DAG: tile.load %[[Y]]
// CHECK-DAG: tile.load %[[Y]]
// CHECK-DAG: tile.load %[[Y]]
// CHECK-NOT: tile.load
// CHECK: scf.yield
// CHECK-COUNT-16: tile.store

// CHECK-LABEL: tile.kernel @both_o_u_l
// CHECK-SAME: "o" = %[[O:[a-z0-9]+]]
// CHECK-SAME: "u" = %[[U:[a-z0-9]+]]
// CHECK-SAME: "l" = %[[L:[a-z0-9]+]]
// CHECK-SAME: grid {{\[\[}}"max", ["ceildiv", ["mul", ["size", "b"], ["ceildiv", ["size", "e"], 4]], 128], ["ceildiv", ["mul", ["size", "b"], ["ceildiv", ["size", "c"], 4]], 128]]]
// CHECK: %[[POINT:.*]] = tile.point
// CHECK: arith.cmpi slt, %[[POINT]]
// CHECK-NOT: , %[[U]][
// CHECK: , %[[O]][
// CHECK: , %[[L]][
// CHECK: arith.cmpi slt, %[[POINT]]
// CHECK-NOT: , %[[O]][
// CHECK-NOT: , %[[L]][
// CHECK: , %[[U]][
