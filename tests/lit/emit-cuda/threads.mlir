// RUN: attnc-opt %s --emit-cuda -o /dev/null | FileCheck %s
// RUN: attnc-opt %s | attnc-opt | FileCheck %s --check-prefix=IR

// Kernels of single threads. An element that is read once stands where it is used, unless something
// writes to an array, or threads meet, in between.
// CHECK: #include "attnc/lanes.cuh"
// CHECK: const i32 thread = threadIndex();
// CHECK-NEXT: __shared__ __align__(16) f32 all[64];
// CHECK-NEXT: f32 own[2];
// CHECK-NEXT: all[thread] = f32(thread);
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (i32 t = 0; t < 2; ++t) {
// CHECK-NEXT:   own[t] = all[thread] + all[63 - thread];
// CHECK-NEXT: }
// CHECK-NEXT: const f32 before = own[1];
// CHECK-NEXT: own[1] = 0.0f;
// CHECK-NEXT: const f32 most = foldLanes<Max>(before);
// CHECK-NEXT: o[i64(thread)] = most;
// IR: tile.array shared : <[64], f32>
// IR: tile.get %{{.*}}[%{{.*}}] : <[64], f32> -> f32
// IR: {tile.unroll = 0 : i64}
// IR: tile.fold_lanes max %{{.*}} : f32 -> f32
tile.kernel @threads("o" = %o: !tile.ptr<f32>) grid [1] threads 64 smem 0 {
  %thread = tile.thread loc("thread")
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c63 = arith.constant 63 : i32
  %all = tile.array shared : <[64], f32> loc("all")
  %own = tile.array : <[2], f32> loc("own")
  %number = arith.sitofp %thread : i32 to f32
  tile.set %number, %all[%thread] : f32 -> <[64], f32>
  tile.barrier
  scf.for %n = %c0 to %c2 step %c1 : i32 {
    %other = arith.subi %c63, %thread : i32
    %x = tile.get %all[%thread] : <[64], f32> -> f32
    %y = tile.get %all[%other] : <[64], f32> -> f32
    %sum = arith.addf %x, %y : f32
    tile.set %sum, %own[%n] : f32 -> <[2], f32>
  } {tile.unroll = 0 : i64} loc("n")
  %before = tile.get %own[%c1] : <[2], f32> -> f32 loc("before")
  %zero = arith.constant 0.0 : f32
  tile.set %zero, %own[%c1] : f32 -> <[2], f32>
  %most = tile.fold_lanes max %before : f32 -> f32 loc("most")
  %at = arith.extsi %thread : i32 to i64
  tile.store %most, %o[%at] : f32 -> <f32>
}
