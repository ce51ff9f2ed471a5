// RUN: attnc-opt %s --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s

// Weights that are no products come from memory: their tensors arrive as the streamed operands do,
// if it is known how long their rows are. A tile of k, the last axis of which is that of the rows, has a
// row for each column of the weights.
attn.program @staged dims [i, d = 40, j, e = 16] {
  %q = attn.input "q" : !attn.array<[i, d], bf16>
  %k = attn.input "k" : !attn.array<[j, d], bf16>
  %v = attn.input "v" : !attn.array<[j, e], bf16>
  %p = attn.input "p" : !attn.array<[i, j], bf16>
  // CHECK-LABEL: tile.kernel @staged_state(
  // CHECK-SAME: "k" = %[[K:[a-z0-9]+]]: !tile.ptr<bf16>
  // CHECK: %[[RING:.*]] = tile.shared at {{[0-9]+}} : !tile.ring<2, <64, 64, bf16>>
  // CHECK: tile.copy %[[K]][%{{.*}}] stride %{{.*}} rows %{{.*}} cols %c40_i32 to %{{.*}} vector 16 : <bf16> -> <64, 64, bf16>
  // CHECK: tile.wait 0
  // CHECK-NEXT: tile.barrier
  // CHECK: tile.commit
  // CHECK: %[[TILE:.*]] = tile.stage %[[RING]]
  // CHECK: tile.map rows(%{{.*}} as %[[D:.*]]) cols(%[[J0:.*]] as %[[J:[a-z0-9]+]])
  // CHECK: %[[ROW:.*]] = arith.subi %[[J]], %[[J0]] : i32
  // CHECK: tile.peek %[[TILE]][%[[ROW]], %[[D]]] : <64, 64, bf16>
  // CHECK-NOT: tile.load
  %s = red.nest grid [] row [d] stream [j] inner [e] : !attn.array<[d, e], f32> {
    %kr = attn.read %k[j, d] : (!attn.array<[j, d], bf16>) -> !attn.array<[d, j], f32>
    %vr = attn.read %v[j, e] : (!attn.array<[j, e], bf16>) -> !attn.array<[j, e], f32>
    %f = attn.map (%x = %kr : !attn.array<[d, j], f32>) -> !attn.array<[d, j], f32> {
      %y = math.absf %x : f32
      attn.yield %y : f32
    }
    %a = red.fold add over [j] (%f, %vr) : (!attn.array<[d, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[d, e], f32> loc("state")
    red.yield %a : !attn.array<[d, e], f32>
  } loc("state")
  // CHECK-LABEL: tile.kernel @staged_o(
  // CHECK-SAME: "q" = %[[Q:[a-z0-9]+]]: !tile.ptr<bf16>
  // CHECK: tile.copy %[[Q]][%{{.*}}] stride %{{.*}} rows %{{.*}} cols %{{.*}} to %{{.*}} vector 16 : <bf16> -> <[[R:[0-9]+]], [[C:[0-9]+]], bf16>
  // CHECK: tile.map rows(%{{.*}} as %[[I:.*]]) cols(%[[D0:.*]] as %[[D:[a-z0-9]+]])
  // CHECK-DAG: %[[ROW:.*]] = arith.subi %[[I]], %{{.*}} : i32
  // CHECK-DAG: %[[COL:.*]] = arith.subi %[[D]], %[[D0]] : i32
  // CHECK: tile.peek %{{.*}}[%[[ROW]], %[[COL]]] : <[[R]], [[C]], bf16>
  // The state is a sum with a rounded factor: halves of bf16 keep more of it than it has.
  // CHECK: tile.to_operand %{{.*}} halves
  // CHECK: tile.mma %{{.*}} halves
  %o = red.nest grid [] row [i] stream [d] inner [e] : !attn.array<[i, e], f32> {
    %qr = attn.read %q[i, d] : (!attn.array<[i, d], bf16>) -> !attn.array<[i, d], f32>
    %sr = attn.read %s[d, e] : (!attn.array<[d, e], f32>) -> !attn.array<[d, e], f32>
    %b = red.fold add over [d] (%qr, %sr) : (!attn.array<[i, d], f32>, !attn.array<[d, e], f32>) -> !attn.array<[i, e], f32> loc("o")
    red.yield %b : !attn.array<[i, e], f32>
  } loc("o")
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
  // Copies of several elements could not end where a row of p does.
  // CHECK-LABEL: tile.kernel @staged_w(
  // CHECK-SAME: "p" = %[[P:[a-z0-9]+]]: !tile.ptr<bf16>
  // CHECK-NOT: tile.copy %[[P]]
  // CHECK: tile.load %[[P]]
  %w = red.nest grid [] row [i] stream [j] inner [e] : !attn.array<[i, e], f32> {
    %pr = attn.read %p[i, j] : (!attn.array<[i, j], bf16>) -> !attn.array<[i, j], f32>
    %vr = attn.read %v[j, e] : (!attn.array<[j, e], bf16>) -> !attn.array<[j, e], f32>
    %b = red.fold add over [j] (%pr, %vr) : (!attn.array<[i, j], f32>, !attn.array<[j, e], f32>) -> !attn.array<[i, e], f32> loc("w")
    red.yield %b : !attn.array<[i, e], f32>
  } loc("w")
  attn.output "w" [i, e] %w as f32 : !attn.array<[i, e], f32>
}
