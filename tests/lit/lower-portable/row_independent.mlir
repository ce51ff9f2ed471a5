// RUN: attnc-opt %s --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s

// What all rows share, a count of elements, is a state like others: a share for each lane of each row. It is
// not summed on its own before the loop over tiles, which would be a loop over the stream.
attn.program @counted dims [i, d = 16, j] {
  %q = attn.input "q" : !attn.array<[i, d], bf16>
  %k = attn.input "k" : !attn.array<[j, d], bf16>
  // CHECK-LABEL: tile.kernel @counted_mean
  // CHECK-SAME: #tile.portable<
  // CHECK-NOT: iter_args
  // CHECK: %[[SUM:.*]] = tile.registers all 0.0{{.*}} : !tile.rows<[[R:[0-9]+]]>
  // CHECK: %[[COUNT:.*]] = tile.registers all 0.0{{.*}} : !tile.rows<[[R]]>
  // CHECK: tile.mma
  // CHECK-DAG: tile.reduce_rows add %{{.*}} into %[[SUM]]
  // CHECK-DAG: tile.reduce_rows add %{{.*}} into %[[COUNT]]
  // CHECK: tile.reduce_quad add %[[COUNT]]
  %m = red.nest grid [] row [i] stream [j] inner [d] : !attn.array<[i], f32> {
    %qr = attn.read %q[i, d] : (!attn.array<[i, d], bf16>) -> !attn.array<[i, d], f32>
    %kr = attn.read %k[j, d] : (!attn.array<[j, d], bf16>) -> !attn.array<[d, j], f32>
    %s = red.fold add over [d] (%qr, %kr) : (!attn.array<[i, d], f32>, !attn.array<[d, j], f32>) -> !attn.array<[i, j], f32>
    %j = attn.index j : !attn.array<[j], i64>
    %one = attn.map (%x = %j : !attn.array<[j], i64>) -> !attn.array<[j], f32> {
      %c = arith.constant 1.0 : f32
      attn.yield %c : f32
    }
    %sum = red.fold add over [j] (%s) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32> loc("sum")
    %count = red.fold add over [j] (%one) : (!attn.array<[j], f32>) -> !attn.array<[], f32> loc("count")
    %least = attn.map (%x = %count : !attn.array<[], f32>) -> !attn.array<[], f32> {
      %c = arith.constant 1.0 : f32
      %y = arith.maximumf %x, %c : f32
      attn.yield %y : f32
    }
    %mean = attn.map (%x = %sum : !attn.array<[i], f32>, %n = %least : !attn.array<[], f32>) -> !attn.array<[i], f32> {
      %y = arith.divf %x, %n : f32
      attn.yield %y : f32
    } loc("mean")
    red.yield %mean : !attn.array<[i], f32>
  } loc("mean")
  attn.output "mean" [i] %m as f32 : !attn.array<[i], f32>
}
