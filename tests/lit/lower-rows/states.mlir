// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// A block has 16 rows of h. Its threads compute the scores of a tile once, warps fold the maximum,
// threads the weights, and then the elements of the states: those of z, which is the same for all
// rows, each thread for two of them, which leaves elements for 128 threads; those of v, each thread
// for one. Columns of a tile lie four places further apart than there are rows.
// CHECK: tile.kernel @pairs_o_oz
// CHECK-SAME: "z" = %[[Z:[a-z0-9]+]]: !tile.ptr<f32>
// CHECK-SAME: "size_j" = %[[SIZE:[a-z0-9]+]]: i64
// CHECK-SAME: grid {{\[\[}}"mul", ["size", "i"], ["ceildiv", ["size", "h"], 16]]] threads 448
// CHECK: %[[THREAD:.*]] = tile.thread
// CHECK: %[[S:.*]] = tile.array shared : <[16, 20], f32>
// CHECK: %[[W:.*]] = tile.array shared : <[16, 20], f32>
// CHECK: %[[RESCALE:.*]] = tile.array shared : <[16], f32>
// CHECK: %[[MAX:.*]] = tile.array shared : <[16], f32>
// CHECK: %[[SUM:.*]] = tile.array shared : <[16], f32>
// CHECK: %[[O:.*]] = tile.array : <[1], f32>
// CHECK: %[[OZ:.*]] = tile.array : <[2], f32>
// CHECK: tile.barrier
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[SIZE]]
// CHECK: scf.for %{{.*}} = %[[THREAD]] to
// CHECK: tile.set %{{.*}}, %[[S]]
// CHECK: tile.barrier
// CHECK: tile.fold_lanes max
// CHECK: tile.set %{{.*}}, %[[RESCALE]]
// CHECK: tile.set %{{.*}}, %[[MAX]]
// CHECK: tile.barrier
// CHECK: math.exp
// CHECK: tile.set %{{.*}}, %[[W]]
// CHECK: tile.barrier
// CHECK: tile.fold_lanes add
// CHECK: tile.set %{{.*}}, %[[SUM]]
// CHECK: tile.set %{{.*}}, %[[O]]
// CHECK: tile.load %{{.*}} : <f16> -> f32
// CHECK: tile.set %{{.*}}, %[[O]]
// CHECK: tile.set %{{.*}}, %[[OZ]]
// CHECK: %[[VALUE:.*]] = tile.load %[[Z]]
// CHECK: scf.for
// CHECK: math.fma %{{.*}}, %[[VALUE]], %{{.*}}
// CHECK: {tile.unroll = 0 : i64}
// CHECK: {tile.unroll = 4 : i64}
// CHECK: tile.barrier
// CHECK: tile.barrier
// CHECK: tile.store
attn.program @pairs dims [i, h, j, e = 16, c = 24] {
  %x = attn.input "x" : !attn.array<[i, h, j], f32>
  %v = attn.input "v" : !attn.array<[j, h, e], f16>
  %z = attn.input "z" : !attn.array<[i, j, c], f32>
  %r:2 = red.nest grid [h] row [i] stream [j] inner [e, c] schedule(#tile.rows<rows = 16, stream_tile = 16, threads = 448>) : !attn.array<[i, h, e], f32>, !attn.array<[i, h, c], f32> {
    %0 = attn.read %x[i, h, j] : (!attn.array<[i, h, j], f32>) -> !attn.array<[i, h, j], f32>
    %max = red.fold max over [j] (%0) : (!attn.array<[i, h, j], f32>) -> !attn.array<[i, h], f32>
    %sum = red.fold add over [j] () exp(%0 - %max) : (!attn.array<[i, h, j], f32>, !attn.array<[i, h], f32>) -> !attn.array<[i, h], f32>
    %1 = attn.read %v[j, h, e] : (!attn.array<[j, h, e], f16>) -> !attn.array<[h, j, e], f32>
    %o = red.fold add over [j] (%1) exp(%0 - %max) : (!attn.array<[h, j, e], f32>, !attn.array<[i, h, j], f32>, !attn.array<[i, h], f32>) -> !attn.array<[i, h, e], f32>
    %2 = attn.read %z[i, j, c] : (!attn.array<[i, j, c], f32>) -> !attn.array<[i, j, c], f32>
    %oz = red.fold add over [j] (%2) exp(%0 - %max) : (!attn.array<[i, j, c], f32>, !attn.array<[i, h, j], f32>, !attn.array<[i, h], f32>) -> !attn.array<[i, h, c], f32>
    %3 = attn.map (%a = %o : !attn.array<[i, h, e], f32>, %b = %sum : !attn.array<[i, h], f32>) -> !attn.array<[i, h, e], f32> {
      %q = arith.divf %a, %b : f32
      attn.yield %q : f32
    }
    red.yield %3, %oz : !attn.array<[i, h, e], f32>, !attn.array<[i, h, c], f32>
  }
  attn.output "o" [i, h, e] %r#0 as f32 : !attn.array<[i, h, e], f32>
  attn.output "oz" [i, h, c] %r#1 as f32 : !attn.array<[i, h, c], f32>
}
