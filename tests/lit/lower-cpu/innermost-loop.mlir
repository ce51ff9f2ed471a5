// The innermost loop of a fold follows memory: along the folded dim it is a reduction, across it the
// results lie side by side and are updated in memory, in the order that is written.
// RUN: attnc-opt --derive-updates --lower-cpu %s | FileCheck %s

// CHECK-LABEL: llvm.func @nest0_sums_along(
// CHECK:         scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
// CHECK:           %[[X:.*]] = llvm.load {{.*}} -> f32
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addf %[[SUM]], %[[X]] fastmath<reassoc,contract> : f32
// CHECK-NEXT:      scf.yield %[[NEXT]] : f32

// CHECK-LABEL: llvm.func @nest1_sums_across(
// CHECK-NOT:     iter_args
// CHECK:         %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK:         llvm.store %[[SUM]]
// CHECK-LABEL: llvm.func @nest1_sums_across_cells(

attn.program @sums dims [m, n] {
  %x = attn.input "x" : !attn.array<[m, n], f32>
  %a = red.nest grid [m] row [] stream [n] inner [] : !attn.array<[m], f32> {
    %0 = attn.read %x[m, n] : (!attn.array<[m, n], f32>) -> !attn.array<[m, n], f32>
    %1 = red.fold add over [n] (%0) : (!attn.array<[m, n], f32>) -> !attn.array<[m], f32>
    red.yield %1 : !attn.array<[m], f32>
  }
  %b = red.nest grid [n] row [] stream [m] inner [] : !attn.array<[n], f32> {
    %0 = attn.read %x[m, n] : (!attn.array<[m, n], f32>) -> !attn.array<[m, n], f32>
    %1 = red.fold add over [m] (%0) : (!attn.array<[m, n], f32>) -> !attn.array<[n], f32>
    red.yield %1 : !attn.array<[n], f32>
  }
  attn.output "along" [m] %a as f32 : !attn.array<[m], f32>
  attn.output "across" [n] %b as f32 : !attn.array<[n], f32>
}
