// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// A block for each (b, h); its threads take the elements of m and n in turn, four of n at a time.
attn.program @cells dims [b, h, m = 5, n = 6] {
  %x = attn.input "x" : !attn.array<[b, h, m, n], f32>
  %o = red.nest grid [b, h, m, n] row [] stream [] inner [] schedule(#tile.generic<threads = 64, cell_dims = 2>) : !attn.array<[b, h, m, n], f32> {
    %0 = attn.read %x[b, h, m, n] : (!attn.array<[b, h, m, n], f32>) -> !attn.array<[b, h, m, n], f32>
    red.yield %0 : !attn.array<[b, h, m, n], f32>
  }
  attn.output "o" [b, h, m, n] %o as f32 : !attn.array<[b, h, m, n], f32>
}

// CHECK: tile.kernel @cells_o(
// CHECK-SAME: "size_b" = %[[B:[a-z0-9]+]]: i64, "size_h" = %[[H:[a-z0-9]+]]: i64
// CHECK-SAME: grid {{\[\[}}"mul", ["size", "b"], ["size", "h"]]] threads 64 smem 0
// CHECK: %[[BLOCK:.*]] = tile.block
// CHECK: %[[CELL:.*]] = arith.extsi %[[BLOCK]]
// CHECK: arith.remsi %[[CELL]], %[[H]]
// CHECK: arith.divsi %[[CELL]], %[[H]]
// CHECK: %[[THREAD:.*]] = tile.thread
// CHECK: %[[FIRST:.*]] = arith.extsi %[[THREAD]]
// CHECK: %[[STEP:.*]] = arith.constant 64 : i64
// CHECK: scf.for %[[POINT:.*]] = %[[FIRST]] to %{{.*}} step %[[STEP]]
// CHECK: arith.remsi %[[POINT]]
// CHECK-COUNT-4: tile.store
