// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// Scores are sums over d of a row's factor and a column's: a thread computes four rows by four
// columns of a tile in one loop, which reads each factor once for all of them. Columns beyond the
// end are the last one again.
// CHECK: tile.kernel @scores_o
// CHECK-SAME: "q" = %[[Q:[a-z0-9]+]]: !tile.ptr<f32>
// CHECK-SAME: "k" = %[[K:[a-z0-9]+]]: !tile.ptr<f32>
// CHECK: tile.array shared : <[64, 36], f32>
// CHECK: %{{.*}}:16 = scf.for
// CHECK-DAG: tile.load %[[Q]]
// CHECK-DAG: tile.load %[[Q]]
// CHECK-DAG: tile.load %[[Q]]
// CHECK-DAG: tile.load %[[Q]]
// CHECK-DAG: tile.load %[[K]]
// CHECK-DAG: tile.load %[[K]]
// CHECK-DAG: tile.load %[[K]]
// CHECK-DAG: tile.load %[[K]]
// CHECK-NOT: tile.load
// CHECK: scf.yield
// CHECK-COUNT-16: tile.set
// CHECK: tile.barrier
attn.program @scores dims [i, j, d = 8, e = 4] {
  %q = attn.input "q" : !attn.array<[i, d], f32>
  %k = attn.input "k" : !attn.array<[j, d], f32>
  %v = attn.input "v" : !attn.array<[j, e], f32>
  %o = red.nest grid [] row [i] stream [j] inner [d, e] schedule(#tile.rows<rows = 32, stream_tile = 64, threads = 128>) : !attn.array<[i, e], f32> {
    %0 = attn.read %q[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
    %1 = attn.read %k[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[j, d], f32>
    %2 = red.fold add over [d] (%0, %1) : (!attn.array<[i, d], f32>, !attn.array<[j, d], f32>) -> !attn.array<[i, j], f32>
    %3 = attn.read %v[j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
    %4 = red.fold add over [j] (%2, %3) : (!attn.array<[i, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[i, e], f32>
    red.yield %4 : !attn.array<[i, e], f32>
  }
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
}

// Sums of squared differences, too: a factor has row and column, but what it is computed from is one's.
// CHECK: tile.kernel @differences_o
// CHECK: %{{.*}}:16 = scf.for
// CHECK-COUNT-8: tile.load
// CHECK-NOT: tile.load
// CHECK: scf.yield
attn.program @differences dims [i, j, d = 8, e = 4] {
  %q = attn.input "q" : !attn.array<[i, d], f32>
  %k = attn.input "k" : !attn.array<[j, d], f32>
  %v = attn.input "v" : !attn.array<[j, e], f32>
  %o = red.nest grid [] row [i] stream [j] inner [d, e] schedule(#tile.rows<rows = 32, stream_tile = 64, threads = 128>) : !attn.array<[i, e], f32> {
    %0 = attn.read %q[i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
    %1 = attn.read %k[j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[j, d], f32>
    %2 = attn.map (%a = %0 : !attn.array<[i, d], f32>, %b = %1 : !attn.array<[j, d], f32>) -> !attn.array<[i, j, d], f32> {
      %c = arith.subf %a, %b : f32
      attn.yield %c : f32
    }
    %3 = red.fold add over [d] (%2, %2) : (!attn.array<[i, j, d], f32>, !attn.array<[i, j, d], f32>) -> !attn.array<[i, j], f32>
    %4 = attn.read %v[j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
    %5 = red.fold add over [j] (%3, %4) : (!attn.array<[i, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[i, e], f32>
    red.yield %5 : !attn.array<[i, e], f32>
  }
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
}
