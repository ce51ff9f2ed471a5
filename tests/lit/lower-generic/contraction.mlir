// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// One thread for each (b, i, j); the fold is a loop of fused multiply-adds over storage types that
// convert where they are loaded.
attn.program @product dims [b, i, d = 24, j] {
  %q = attn.input "q" : !attn.array<[b, i, d], bf16>
  %k = attn.input "k" : !attn.array<[b, j, d], bf16>
  %s = red.nest grid [b, i, j] row [] stream [d] inner [] schedule(#tile.generic<threads = 64>) : !attn.array<[b, i, j], f32> {
    %0 = attn.read %q[b, i, d] : (!attn.array<[b, i, d], bf16>) -> !attn.array<[b, i, d], f32>
    %1 = attn.read %k[b, j, d] : (!attn.array<[b, j, d], bf16>) -> !attn.array<[b, d, j], f32>
    %2 = red.fold add over [d] (%0, %1) : (!attn.array<[b, i, d], f32>, !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, j], f32>
    red.yield %2 : !attn.array<[b, i, j], f32>
  }
  attn.output "s" [b, i, j] %s as f16 : !attn.array<[b, i, j], f32>
}

// CHECK: tile.kernel @product_s("q" = %[[Q:[a-z0-9]+]]: !tile.ptr<bf16>
// CHECK-SAME: "s" = %[[S:[a-z0-9]+]]: !tile.ptr<f16>
// CHECK-SAME: "size_b" = %[[B:[a-z0-9]+]]: i64, "size_i" = %[[I:[a-z0-9]+]]: i64, "size_j" = %[[J:[a-z0-9]+]]: i64
// CHECK-SAME: grid {{\[\[}}"ceildiv", ["mul", ["mul", ["size", "b"], ["size", "i"]], ["size", "j"]], 64]] threads 64 smem 0
// CHECK: %[[POINT:.*]] = tile.point
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[POINT]]
// CHECK: scf.if %[[INSIDE]]
// CHECK: arith.remsi %[[POINT]], %[[J]]
// CHECK: %[[D:.*]] = arith.constant 24 : i64
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %[[D]] step %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)
// CHECK: %[[X:.*]] = tile.load %[[Q]][%{{.*}}] : <bf16> -> f32
// CHECK: %[[Y:.*]] = tile.load %{{.*}} : <bf16> -> f32
// CHECK: math.fma %[[X]], %[[Y]], %[[ACC]]
// CHECK: tile.store %[[SUM]], %[[S]][%{{.*}}] : f32 -> <f16>
