// What scores depend on through the difference of their indices alone is computed once for each of
// the 64 + 64 differences of a group's rows and a tile's columns, while products run. Groups meet
// before they read it, and before they write the first table of a row tile.
// RUN: attnc compile relative_bias --target sm_90a --emit cuda -o %t.cu --schedule %S/Inputs/differences.json
// RUN: FileCheck %s < %t.cu

// CHECK: const SharedRing<SharedTile<f32, 1, 128>, 4> w_by_difference{
// CHECK: startABt<kFresh>(scores, q_pipe[0].rows<64>(group * 64), k_pipe[own_first]);
// CHECK: meet(group + 3, 128);
// CHECK: for (int first = 0; first < 128; first += 128)
// CHECK: const int n = first + int(u32(threadIndex()) % 128);
// CHECK: meet(group + 3, 128);

// CHECK: for (i32 t_2 = own_first + 1
// CHECK: startABt<kFresh>(scores
// CHECK: startAB(o, weights
// CHECK-NOT: meet(
// CHECK: for (int first
// CHECK: max<i32>(first_difference{{[_0-9]*}} + number
// CHECK: bucket[
// CHECK: storeElement(w_by_difference
// CHECK: meet(group + 3, 128);
// CHECK: waitProducts<1>(scores);
// CHECK-NOT: bucket[
// CHECK: .element(0,
// CHECK: .element(0,
// CHECK: reduceRows<Max>
