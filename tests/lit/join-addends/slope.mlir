// A slope times the distance of a score's indices is added to the sum before the scale, which the
// exponent takes. Its product with the distances is a further one on the tensor cores. The stream is
// walked towards where scores fall. Other targets add it to each score.
// RUN: attnc compile alibi --target sm_90a --emit red | FileCheck %s
// RUN: attnc compile alibi --target sm_80 --emit red | FileCheck %s --check-prefix=ADDED
// RUN: attnc compile alibi --target sm_90a --emit cuda | FileCheck %s --check-prefix=CUDA

// CHECK:      %[[SUM:[0-9]+]] = red.fold add over [d]
// CHECK:      %[[SLOPE:[0-9]+]] = attn.map (%{{[^ ]+}} = %slope{{.*}}, %{{[^ ]+}} = %scale
// CHECK:      arith.divf
// CHECK:      %[[NUMBER:[0-9]+]] = attn.map {{.*}} -> !attn.array<[i, j], i64>
// CHECK-NEXT: arith.subi
// CHECK:      %[[JOINED:[0-9]+]] = attn.map (%{{[^ ]+}} = %[[SUM]] : {{[^,]+, [^,]+, [^,]+, [^,]+, f32>}}, %{{[^ ]+}} = %[[SLOPE]] : {{[^,]+, f32>}}, %{{[^ ]+}} = %[[NUMBER]] :
// CHECK-NEXT: arith.sitofp
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf
// CHECK:      attn.map ({{.*}} = %[[JOINED]]
// CHECK:      arith.mulf
// CHECK-NEXT: arith.constant 0xFF800000
// CHECK-NEXT: arith.select

// ADDED-NOT: arith.divf %{{.*}}, %scale

// CUDA:      const bool is_descending = slope[i64(h)] / scale > 0.0f;
// CUDA:      offset[r] = x * f32(
// CUDA:      startABt<kFresh>(scores
// CUDA-NEXT: startAB(scores, slopes, distances);
// CUDA:      tile_top[r] + offset[r]
