// RUN: attnc-opt %s --derive-updates --attnc-pipeline="from=choose-schedules through=lower-nests target=sm_80" | FileCheck %s
// RUN: attnc-opt %s --derive-updates --attnc-pipeline="from=choose-schedules target=sm_80" --emit-cuda -o /dev/null | FileCheck %s --check-prefix=CUDA

// Two products of matrices of 20 rows: each block has one (b), and one launch computes both. What only
// the second reads is in the block's shared memory, behind what the products need, where a cell is all
// there is. Its strides are known, so the kernels are not called with them.
attn.program @twice dims [b, m = 20, n = 20, x = 20] {
  %q = attn.input "q" : !attn.array<[b, m, n], f32>
  %s = red.nest grid [b] row [m] stream [n] inner [x] : !attn.array<[b, m, x], f32> {
    %0 = attn.read %q[b, m, n] : (!attn.array<[b, m, n], f32>) -> !attn.array<[b, m, n], f32>
    %1 = attn.read %q[b, n, x] : (!attn.array<[b, m, n], f32>) -> !attn.array<[b, n, x], f32>
    %2 = red.fold add over [n] (%0, %1) : (!attn.array<[b, m, n], f32>, !attn.array<[b, n, x], f32>) -> !attn.array<[b, m, x], f32>
    red.yield %2 : !attn.array<[b, m, x], f32>
  }
  %o = red.nest grid [b] row [m] stream [n] inner [x] : !attn.array<[b, m, x], f32> {
    %0 = attn.read %q[b, m, n] : (!attn.array<[b, m, n], f32>) -> !attn.array<[b, m, n], f32>
    %1 = attn.read %s[b, n, x] : (!attn.array<[b, m, x], f32>) -> !attn.array<[b, n, x], f32>
    %2 = red.fold add over [n] (%0, %1) : (!attn.array<[b, m, n], f32>, !attn.array<[b, n, x], f32>) -> !attn.array<[b, m, x], f32>
    red.yield %2 : !attn.array<[b, m, x], f32>
  }
  attn.output "o" [b, m, x] %o as f32 : !attn.array<[b, m, x], f32>
}

// CHECK: %[[S:.*]] = red.nest grid [b] row [m]
// CHECK: red.chain = 0
// CHECK-SAME: red.kept = array<i1: true>
// CHECK: red.nest grid [b] row [m]
// CHECK: red.chain = 0
// CHECK-SAME: red.kept = array<i1: false>
// CHECK: tile.kernel @twice_value("q" = %{{.*}}: !tile.ptr<f32>, "q_stride0" = %{{.*}}: i64, "q_stride1" = %{{.*}}: i64, "value" = %[[VALUE:[a-z0-9]+]]: !tile.ptr<f32, shared>, "size_b" = %{{.*}}: i64)
// CHECK-SAME: chain = 0
// CHECK: %[[ROW:.*]] = arith.constant 20 : i64
// CHECK: tile.store_tile %{{.*}} to %[[VALUE]][%{{.*}}] stride %[[ROW]] rows
// CHECK: tile.kernel @twice_o(
// CHECK-SAME: chain = 0
// CHECK: tile.kernel @twice_value_chain("q" = %[[Q:[a-z0-9]+]]: !tile.ptr<f32>, "q_stride0" = %[[Q0:[a-z0-9]+]]: i64, "q_stride1" = %[[Q1:[a-z0-9]+]]: i64
// CHECK-SAME: "o" = %[[O:[a-z0-9]+]]: !tile.ptr<f32>
// CHECK-SAME: grid {{\[\[}}"size", "b"]] threads 128
// CHECK: %[[KEPT:.*]] = tile.shared at {{[0-9]+}} : !tile.ptr<f32, shared>
// CHECK-NEXT: tile.call @twice_value(%[[Q]], %[[Q0]], %[[Q1]], %[[KEPT]],
// CHECK: tile.barrier
// CHECK: tile.call @twice_o(%[[Q]], %[[Q0]], %[[Q1]], %[[KEPT]]
// CHECK-SAME: %[[O]]

// Functions of one text: what another one has written is no constant, and in shared memory.
// CUDA: static __device__ __noinline__ void
// CUDA-NEXT: twice_value(const f32 *q, i64 q_stride0
// CUDA-NEXT: value = inShared(value);
// CUDA-NOT: awaitLaunchBefore
// CUDA: copyTile<128, 16>(q_ring[0], q + q_base_2, q_stride1, 20);
// CUDA: storeTile<128, 16>(value + 0, 20,
// CUDA: static __device__ __noinline__ void
// CUDA-NEXT: twice_o(const f32 *q
// CUDA: copyTile<128, 16, 1, Source::Shared>(value_ring[0], value + 0, 20, 20);
// CUDA: copyTile<128, 16>(q_ring[0], q + q_base, q_stride1, 20, 20);
// CUDA: extern "C" __global__ void __launch_bounds__(128
// CUDA-NEXT: twice_value_chain(f32 *q, i64 q_stride0
// CUDA: awaitLaunchBefore();
// CUDA: f32 *const value = reinterpret_cast<f32 *>(memory + {{[0-9]+}});
// CUDA-NEXT: twice_value(q, q_stride0, q_stride1, value, size_b);
// CUDA-NEXT: __syncthreads();
// CUDA-NEXT: twice_o(q
