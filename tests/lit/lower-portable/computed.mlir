// RUN: attnc-opt %s --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s

// A key that no tensor has is computed into shared memory by all threads, between two meetings of
// theirs; since it is f32, the query that it meets is widened on the way. A fold that is no product
// runs over its inner dim outside of the map over scores. The norm of a row of the result is folded
// from the accumulators.
attn.program @computed dims [i, d = 16, j, e = 16] {
  %q = attn.input "q" : !attn.array<[i, d], bf16>
  %k = attn.input "k" : !attn.array<[j, d], bf16>
  %v = attn.input "v" : !attn.array<[j, e], bf16>
  // CHECK-LABEL: tile.kernel @computed_o
  %o = red.nest grid [] row [i] stream [j] inner [d, e] : !attn.array<[i, e], f32> {
    %qr = attn.read %q[i, d] : (!attn.array<[i, d], bf16>) -> !attn.array<[i, d], f32>
    %kr = attn.read %k[j, d] : (!attn.array<[j, d], bf16>) -> !attn.array<[d, j], f32>
    %vr = attn.read %v[j, e] : (!attn.array<[j, e], bf16>) -> !attn.array<[j, e], f32>
    %f = attn.map (%x = %kr : !attn.array<[d, j], f32>) -> !attn.array<[d, j], f32> {
      %y = math.absf %x : f32
      attn.yield %y : f32
    } loc("f")
    // CHECK: tile.tabulate %{{.*}} rows %{{.*}} : <{{[0-9]+}}, 16, f32>
    // CHECK: scf.for
    // CHECK: tile.barrier
    // CHECK: tile.tabulate %[[KEY:.*]] rows %{{.*}} : <[[COLUMNS:[0-9]+]], 16, f32>
    // CHECK: math.absf
    // CHECK: tile.barrier
    // CHECK: tile.mma %{{.*}}, %{{.*}}, %[[KEY]] transposed : <[[ROWS:[0-9]+]], [[COLUMNS]]>,
    %s = red.fold add over [d] (%qr, %f) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32> loc("s")
    %g = attn.map (%x = %qr : !attn.array<[i, d], f32>, %y = %kr : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
      %z = arith.subf %x, %y : f32
      %a = math.absf %z : f32
      attn.yield %a : f32
    }
    // CHECK: scf.for
    // CHECK: tile.map
    // CHECK: arith.subf
    // CHECK: math.absf
    %t = red.fold add over [d] (%g) : (!attn.array<[i, d, j], f32>) -> !attn.array<[i, j], f32> loc("t")
    %w = attn.map (%x = %s : !attn.array<[i, j], f32>, %y = %t : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
      %z = arith.subf %x, %y : f32
      attn.yield %z : f32
    }
    %a = red.fold add over [j] (%w, %vr) : (!attn.array<[i, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[i, e], f32> loc("a")
    // CHECK: %[[NORM:.*]] = tile.registers all 0.0{{.*}} : !tile.rows<[[ROWS]]>
    // CHECK-NEXT: tile.reduce_rows add %{{.*}} into %[[NORM]]
    // CHECK-NEXT: tile.reduce_quad add %[[NORM]]
    %n = red.fold add over [e] (%a, %a) : (!attn.array<[i, e], f32>, !attn.array<[i, e], f32>) -> !attn.array<[i], f32> loc("n")
    // CHECK: math.rsqrt
    %r = attn.map (%x = %a : !attn.array<[i, e], f32>, %y = %n : !attn.array<[i], f32>) -> !attn.array<[i, e], f32> {
      %z = math.rsqrt %y : f32
      %b = arith.mulf %x, %z : f32
      attn.yield %b : f32
    } loc("o")
    red.yield %r : !attn.array<[i, e], f32>
  }
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
}
