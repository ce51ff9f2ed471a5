// RUN: attnc-opt %S/../tile/fa3-loop.mlir --emit-cuda -o /dev/null | FileCheck %s

// A kernel with roles: a decision on the warpgroup, one branch for each role; one call for each wait,
// copy and group of products.

// CHECK: #include "attnc/index.cuh"
// CHECK-NEXT: #include "attnc/pipe.cuh"
// CHECK-NEXT: #include "attnc/wgmma_n80.cuh" // generated: products with 80 columns
// CHECK-NEXT: #include "attnc/wgmma_n128.cuh" // generated: products with 128 columns
// CHECK-NEXT: #include "attnc/wgmma.cuh"
// CHECK: fa3_loop(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
// CHECK-NEXT: const __grid_constant__ TensorMap v_map, bf16 *__restrict__ o,
// CHECK: const Pipe<PanelTile<bf16, 192, 128>, 1> q_pipe{base, base + 172032};
// CHECK-NEXT: const Pipe<PanelTile<bf16, 80, 128>, 3> k_pipe{base + 49152, base + 172048};
// CHECK-NEXT: const Pipe<PanelTile<bf16, 80, 128>, 3> v_pipe{base + 110592, base + 172096};
// CHECK-NEXT: if (threadIndex() == 0) {
// CHECK-NEXT:   prefetchMap(q_map);
// CHECK-NEXT:   prefetchMap(k_map);
// CHECK-NEXT:   prefetchMap(v_map);
// CHECK-NEXT:   q_pipe.start(12);
// CHECK-NEXT:   k_pipe.start(12);
// CHECK-NEXT:   v_pipe.start(12);
// CHECK-NEXT:   publishBarriers();
// CHECK-NEXT: }
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: const int warpgroup = warpgroupIndex();

// Fewer registers than the equal share of 128, and more.
// CHECK-NEXT: if (warpgroup == 0) { // load
// CHECK-NEXT:   shrinkRegisters<32>();
// CHECK-NEXT:   if (threadIndex() == 0) {
// CHECK:          #pragma unroll 1
// CHECK-NEXT:     for (i32 t = blockIndex(); t < tiles; t += gridSize()) {
// CHECK:            k_pipe.acquire([[N:[a-z_0-9]+]]);
// CHECK-NEXT:       k_pipe.fill([[N]], k_map, 0, h, b);
// CHECK:            #pragma unroll 1
// CHECK-NEXT:       for (
// CHECK-NEXT:         const i32 next = [[M:[a-z_0-9]+]] + 1;
// CHECK-NEXT:         const i32 j0 = {{.*}} * 80;
// CHECK-NEXT:         k_pipe.acquire(next);
// CHECK-NEXT:         k_pipe.fill(next, k_map, j0, h, b);
// CHECK-NEXT:         v_pipe.acquire([[M]]);
// CHECK-NEXT:         v_pipe.fill([[M]], v_map, j0 - 80, h, b);
// CHECK-NEXT:         [[M]] = next;
// CHECK: } else { // compute
// CHECK-NEXT:   growRegisters<160>();
// CHECK-NEXT:   const i32 group = warpgroup - 1;
// CHECK:        const auto tile = q_pipe[0].rows<64>(group * 64);
// CHECK-NEXT:   if (group == 0) {
// CHECK-NEXT:     signal(1, 256);
// CHECK:     Accumulator<16, 80> s;
// CHECK-NEXT: RegisterOperand<bf16, 80> p;

// The loop: scores of the next tile and the values of this one under way together.
// CHECK:     for (i32 [[T:[a-z_0-9]+]] = 1; [[T]] < end_tile; ++[[T]]) {
// CHECK-NEXT:  const i32 next = [[L:[a-z_0-9]+]] + 1;
// CHECK-NEXT:  const i32 j0 = [[T]] * 80;
// CHECK-NEXT:  k_pipe.await(next);
// CHECK-NEXT:  meet(own, 256);
// CHECK-NEXT:  fenceProducts();
// CHECK-NEXT:  startABt<kFresh>(s, tile, k_pipe[next]);
// CHECK-NEXT:  commitProducts();
// CHECK-NEXT:  v_pipe.await([[L]]);
// CHECK-NEXT:  fenceProducts();
// CHECK-NEXT:  startAB(acc, p, v_pipe[[[L]]]);
// CHECK-NEXT:  commitProducts();
// CHECK-NEXT:  signal(other, 256);
// CHECK-NEXT:  waitProducts<1>(s);
// CHECK-NEXT:  k_pipe.release(next);
// CHECK:       const bool moved = anyLane(exceeds);
// CHECK:       if (moved) {
// CHECK:       reduceRows<Add>(l, s);
// CHECK-NEXT:  waitProducts<0>(acc, s);
// CHECK-NEXT:  v_pipe.release([[L]]);
// CHECK-NEXT:  convertOperand(p, s);
// CHECK-NEXT:  if (moved) {
// CHECK-NEXT:    scaleRows(acc, rescale);
// CHECK:     storeFragmentRows(o + {{.*}}, o_stride2, acc, {{.*}}, size_i);
