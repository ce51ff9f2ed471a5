// A running maximum keeps what it was before the tile; the states that refer to it are rescaled by
// exp(old - new), in which an old value of -inf absorbs. Both sums share one tile of exponentials.
//   m = max(j, s)   z = sum(j, exp(s - m))   c = sum(j, exp(s - m) * v)
// RUN: attnc-opt --derive-updates --lower-cpu %s | FileCheck %s

// CHECK-LABEL: llvm.func @nest0_online_m_z_c(
// CHECK-SAME:    %[[ARGS:.*]]: !llvm.ptr, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// The cells:
// CHECK:         scf.for %{{.*}} = %[[FIRST]] to %[[LAST]]
// How far the maximum moves, from its old value:
// CHECK:         arith.maximumf
// CHECK:         %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT:    %[[EMPTY:.*]] = arith.cmpf oeq, %[[OLD:.*]], %[[LOW]] : f32
// CHECK-NEXT:    %[[MOVED:.*]] = arith.subf %[[OLD]], %{{.*}} : f32
// CHECK-NEXT:    arith.select %[[EMPTY]], %[[LOW]], %[[MOVED]] : f32
// CHECK:         arith.constant 1.44269502 : f32
// The tile's exponentials, once: the next exponential there is none of.
// CHECK:         arith.constant 1.44269502 : f32
// CHECK-NOT:     arith.constant 1.44269502 : f32
// CHECK:         llvm.return
// CHECK-LABEL: llvm.func @nest0_online_m_z_c_cells(%{{.*}}: !llvm.ptr) -> i64
// CHECK-LABEL: llvm.func @nest0_online_m_z_c_scratch(%{{.*}}: !llvm.ptr) -> i64

attn.program @online dims [i, j, e = 8] {
  %s = attn.input "s" : !attn.array<[i, j], f32>
  %v = attn.input "v" : !attn.array<[j, e], f32>
  %m, %z, %c = red.nest grid [] row [i] stream [j] inner [e] : !attn.array<[i], f32>, !attn.array<[i], f32>, !attn.array<[i, e], f32> {
    %0 = attn.read %s[i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %1 = attn.read %v[j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32>
    %2 = red.fold max over [j] (%0) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    %3 = red.fold add over [j] () exp(%0 - %2) : (!attn.array<[i, j], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    %4 = red.fold add over [j] (%1) exp(%0 - %2) : (!attn.array<[j, e], f32>, !attn.array<[i, j], f32>, !attn.array<[i], f32>) -> !attn.array<[i, e], f32>
    red.yield %2, %3, %4 : !attn.array<[i], f32>, !attn.array<[i], f32>, !attn.array<[i, e], f32>
  }
  attn.output "m" [i] %m as f32 : !attn.array<[i], f32>
  attn.output "z" [i] %z as f32 : !attn.array<[i], f32>
  attn.output "c" [i, e] %c as f32 : !attn.array<[i, e], f32>
}
