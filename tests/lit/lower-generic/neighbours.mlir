// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// Of parts, or of as few elements, a thread folds four columns in one loop: what they share is read
// once, and beyond the end the last column is folded again and not stored.
attn.program @merged dims [part, b, e] attributes {red.part_dims = ["part"]} {
  %w = attn.input "w" : !attn.array<[b, part], f32>
  %x = attn.input "x" : !attn.array<[part, b, e], f32>
  %o = red.nest grid [b, e] row [] stream [part] inner [] schedule(#tile.generic<threads = 64>) : !attn.array<[b, e], f32> {
    %0 = attn.read %w[b, part] : (!attn.array<[b, part], f32>) -> !attn.array<[part, b], f32>
    %1 = attn.read %x[part, b, e] : (!attn.array<[part, b, e], f32>) -> !attn.array<[part, b, e], f32>
    %2 = red.fold add over [part] (%0, %1) : (!attn.array<[part, b], f32>, !attn.array<[part, b, e], f32>) -> !attn.array<[b, e], f32>
    red.yield %2 : !attn.array<[b, e], f32>
  }
  attn.output "o" [b, e] %o as f32 : !attn.array<[b, e], f32>
}

// A longer stream is folded by more threads.
attn.program @long dims [n, b, e] {
  %x = attn.input "x" : !attn.array<[n, b, e], f32>
  %o = red.nest grid [b, e] row [] stream [n] inner [] schedule(#tile.generic<threads = 64>) : !attn.array<[b, e], f32> {
    %1 = attn.read %x[n, b, e] : (!attn.array<[n, b, e], f32>) -> !attn.array<[n, b, e], f32>
    %2 = red.fold add over [n] (%1) : (!attn.array<[n, b, e], f32>) -> !attn.array<[b, e], f32>
    red.yield %2 : !attn.array<[b, e], f32>
  }
  attn.output "o" [b, e] %o as f32 : !attn.array<[b, e], f32>
}

// CHECK-LABEL: tile.kernel @merged_o
// CHECK-SAME: "w" = %[[W:[a-z0-9]+]]
// CHECK-SAME: "x" = %[[X:[a-z0-9]+]]
// CHECK-SAME: grid {{\[\[}}"ceildiv", ["mul", ["size", "b"], ["ceildiv", ["size", "e"], 4]], 64]]
// CHECK-COUNT-4: arith.minsi
// CHECK: %[[SUMS:.*]]:4 = scf.for
// CHECK: %[[WEIGHT:.*]] = tile.load %[[W]]
// CHECK-NOT: tile.load %[[W]]
// CHECK-COUNT-4: math.fma %[[WEIGHT]]
// CHECK: scf.yield
// CHECK: scf.if
// CHECK: tile.store %[[SUMS]]#0
// CHECK-COUNT-3: tile.store

// CHECK-LABEL: tile.kernel @long_o
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: tile.store
// CHECK-NOT: tile.store
