// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// Parts of a stream are merged for 4 rows of each cell: a thread has one point, reads 16 parts before
// it folds them, and takes the rest in turn. The maximum comes first, the sum is relative to what it is
// in the end.
attn.program @few dims [p, b, m = 4, j] attributes {red.part_dims = ["p"]} {
  %x = attn.input "x" : !attn.array<[p, b, m, j], f32>
  %parts:2 = red.nest grid [p, b] row [m] stream [j] inner [] schedule(#tile.generic<threads = 128>) : !attn.array<[p, b, m], f32>, !attn.array<[p, b, m], f32> {
    %0 = attn.read %x[p, b, m, j] : (!attn.array<[p, b, m, j], f32>) -> !attn.array<[p, b, m, j], f32>
    %1 = red.fold max over [j] (%0) : (!attn.array<[p, b, m, j], f32>) -> !attn.array<[p, b, m], f32>
    %2 = red.fold add over [j] () exp(%0 - %1) : (!attn.array<[p, b, m, j], f32>, !attn.array<[p, b, m], f32>) -> !attn.array<[p, b, m], f32>
    red.yield %1, %2 : !attn.array<[p, b, m], f32>, !attn.array<[p, b, m], f32>
  }
  %z = red.nest grid [b, m] row [] stream [p] inner [] schedule(#tile.generic<threads = 128>) : !attn.array<[b, m], f32> {
    %0 = attn.read %parts#0[p, b, m] : (!attn.array<[p, b, m], f32>) -> !attn.array<[p, b, m], f32>
    %1 = attn.read %parts#1[p, b, m] : (!attn.array<[p, b, m], f32>) -> !attn.array<[p, b, m], f32>
    %2 = red.fold max over [p] (%0) : (!attn.array<[p, b, m], f32>) -> !attn.array<[b, m], f32>
    %3 = red.fold add over [p] (%1) exp(%0 - %2) : (!attn.array<[p, b, m], f32>, !attn.array<[p, b, m], f32>, !attn.array<[b, m], f32>) -> !attn.array<[b, m], f32>
    red.yield %3 : !attn.array<[b, m], f32>
  }
  attn.output "z" [b, m] %z as f32 : !attn.array<[b, m], f32>
}

// CHECK-LABEL: tile.kernel @few_z(
// CHECK-SAME: grid {{\[\[}}"ceildiv", ["mul", ["size", "b"], 4], 128]]
// CHECK: %[[REST:.*]] = arith.remsi %size_p, %c16_i64
// CHECK: %[[WHOLE:.*]] = arith.subi %size_p, %[[REST]]
// CHECK: %[[MOST:.*]] = scf.for %[[FIRST:.*]] = %c0_i64 to %[[WHOLE]] step %c16_i64
// CHECK-NEXT: %[[END:.*]] = arith.addi %[[FIRST]], %c16_i64
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1_i64
// CHECK-NOT: math.exp
// CHECK: arith.maximumf
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {tile.unroll = 0 : i64}
// CHECK: %[[MAX:.*]] = scf.for %{{.*}} = %[[WHOLE]] to %size_p step %c1_i64{{.*}} iter_args(%{{.*}} = %[[MOST]])
// CHECK: scf.for %{{.*}} = %c0_i64 to %[[WHOLE]] step %c16_i64
// CHECK: attn.sub %{{.*}}, %[[MAX]]
// CHECK-NOT: arith.maximumf
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %size_p step %c1_i64
// CHECK: attn.sub %{{.*}}, %[[MAX]]
