// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// A window slides along i: of 16 neighbours each reads at one index of w what the next one has read
// at the one before. So an index reads one element, for the last of them, and hands the others on;
// before the first index 15 are read. Reads are guarded, also those of points that do not exist.
attn.program @conv dims [b, i, e, w = 33] {
  %c = attn.input "c" : !attn.array<[w], f32>
  %v = attn.input "v" : !attn.array<[b, i, e], f32>
  %o = red.nest grid [b, i, e] row [] stream [] inner [w] schedule(#tile.generic<threads = 128>) : !attn.array<[b, i, e], f32> {
    %0 = attn.read %c[w] : (!attn.array<[w], f32>) -> !attn.array<[w], f32>
    %1 = attn.index i : !attn.array<[i], i64>
    %2 = attn.index w : !attn.array<[w], i64>
    %3 = attn.map (%x = %1 : !attn.array<[i], i64>, %y = %2 : !attn.array<[w], i64>) -> !attn.array<[i, w], i64> {
      %half = arith.constant 16 : i64
      %before = arith.subi %x, %half : i64
      %at = arith.addi %before, %y : i64
      attn.yield %at : i64
    }
    %4 = attn.read %v[b, %3, e] else 0.0 : (!attn.array<[b, i, e], f32>, !attn.array<[i, w], i64>) -> !attn.array<[b, i, e, w], f32>
    %5 = red.fold add over [w] (%0, %4) : (!attn.array<[w], f32>, !attn.array<[b, i, e, w], f32>) -> !attn.array<[b, i, e], f32>
    red.yield %5 : !attn.array<[b, i, e], f32>
  }
  attn.output "o" [b, i, e] %o as f32 : !attn.array<[b, i, e], f32>
}

// The difference of the indices is another window for each point: nothing is handed on.
attn.program @turned dims [b, i, e, w = 33] {
  %c = attn.input "c" : !attn.array<[w], f32>
  %v = attn.input "v" : !attn.array<[b, i, e], f32>
  %o = red.nest grid [b, i, e] row [] stream [] inner [w] schedule(#tile.generic<threads = 128>) : !attn.array<[b, i, e], f32> {
    %0 = attn.read %c[w] : (!attn.array<[w], f32>) -> !attn.array<[w], f32>
    %1 = attn.index i : !attn.array<[i], i64>
    %2 = attn.index w : !attn.array<[w], i64>
    %3 = attn.map (%x = %1 : !attn.array<[i], i64>, %y = %2 : !attn.array<[w], i64>) -> !attn.array<[i, w], i64> {
      %at = arith.subi %x, %y : i64
      attn.yield %at : i64
    }
    %4 = attn.read %v[b, %3, e] else 0.0 : (!attn.array<[b, i, e], f32>, !attn.array<[i, w], i64>) -> !attn.array<[b, i, e, w], f32>
    %5 = red.fold add over [w] (%0, %4) : (!attn.array<[w], f32>, !attn.array<[b, i, e, w], f32>) -> !attn.array<[b, i, e], f32>
    red.yield %5 : !attn.array<[b, i, e], f32>
  }
  attn.output "o" [b, i, e] %o as f32 : !attn.array<[b, i, e], f32>
}

// Beside a state each point has its own stream, so neighbours share no loop.
attn.program @beside dims [i, e, j, w = 33] {
  %x = attn.input "x" : !attn.array<[i, e, j], f32>
  %v = attn.input "v" : !attn.array<[i, e], f32>
  %c = attn.input "c" : !attn.array<[w], f32>
  %o = red.nest grid [i, e] row [] stream [j] inner [w] schedule(#tile.generic<threads = 128>) : !attn.array<[i, e], f32> {
    %0 = attn.read %c[w] : (!attn.array<[w], f32>) -> !attn.array<[w], f32>
    %1 = attn.index i : !attn.array<[i], i64>
    %2 = attn.index w : !attn.array<[w], i64>
    %3 = attn.map (%a = %1 : !attn.array<[i], i64>, %b = %2 : !attn.array<[w], i64>) -> !attn.array<[i, w], i64> {
      %at = arith.addi %a, %b : i64
      attn.yield %at : i64
    }
    %4 = attn.read %v[%3, e] else 0.0 : (!attn.array<[i, e], f32>, !attn.array<[i, w], i64>) -> !attn.array<[i, e, w], f32>
    %5 = red.fold add over [w] (%0, %4) : (!attn.array<[w], f32>, !attn.array<[i, e, w], f32>) -> !attn.array<[i, e], f32>
    %6 = attn.read %x[i, e, j] : (!attn.array<[i, e, j], f32>) -> !attn.array<[i, e, j], f32>
    %7 = red.fold add over [j] (%6) : (!attn.array<[i, e, j], f32>) -> !attn.array<[i, e], f32>
    %8 = attn.map (%a = %5 : !attn.array<[i, e], f32>, %b = %7 : !attn.array<[i, e], f32>) -> !attn.array<[i, e], f32> {
      %sum = arith.addf %a, %b : f32
      attn.yield %sum : f32
    }
    red.yield %8 : !attn.array<[i, e], f32>
  }
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
}

// CHECK-LABEL: tile.kernel @conv_o
// CHECK-SAME: "v" = %[[V:[a-z0-9]+]]
// CHECK-SAME: grid {{\[\[}}"ceildiv", ["mul", ["mul", ["size", "b"], ["ceildiv", ["size", "i"], 16]], ["size", "e"]], 128]]
// CHECK-COUNT-15: tile.load %[[V]]
// CHECK-NOT: tile.load %[[V]]
// CHECK: scf.for
// CHECK: arith.cmpi ult
// CHECK: tile.load %[[V]]
// CHECK-NOT: tile.load %[[V]]
// CHECK-COUNT-16: math.fma
// CHECK: scf.yield
// CHECK: {tile.unroll = 16 : i64}
// CHECK-COUNT-16: tile.store

// CHECK-LABEL: tile.kernel @turned_o
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: tile.store
// CHECK-NOT: tile.store

// CHECK-LABEL: tile.kernel @beside_o
// CHECK-SAME: grid {{\[\[}}"ceildiv", ["mul", ["size", "i"], ["size", "e"]], 128]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.store
// CHECK-NOT: tile.store
