// Operands of f32 as halves: the largest magnitudes of the columns of what is streamed come first, then the
// encodings. Rows have scales of their own, tiles of the stream one each; only values need their columns
// back. One launch finds the maxima, one encodes, and both come before the nest's.
// RUN: attnc compile full --set T=f32 --target sm_90a --emit tile -o %t.tile --print-ir-after encode-operands 2> %t.ir
// RUN: FileCheck %s < %t.ir
// RUN: FileCheck %s --check-prefix=TILE < %t.tile
// RUN: attnc compile full --set T=f32 --target sm_90a --emit manifest | FileCheck %s --check-prefix=LAUNCH
// RUN: attnc compile full --target sm_90a --emit manifest | FileCheck %s --check-prefix=HALF

// CHECK: %[[KTOPS:.*]] = red.tops %[[K:.*]] axis 2
// CHECK: %[[VTOPS:.*]] = red.tops %[[V:.*]] axis 2
// CHECK: red.encode %[[K]] tops %[[KTOPS]] axis 2 rows 128
// CHECK: red.encode %[[V]] tops %[[VTOPS]] axis 2 rows 128
// CHECK: red.lost : <[], i32> by #tile.portable
// CHECK: red.encode %{{.*}} tops %[[KTOPS]] axis 2 rows 0
// CHECK: red.nest

// Three products for scores, the smallest first, and three for values, into a sum of one tile.
// TILE: tile.kernel @full_o(
// TILE: mma_start %scores, {{.*}} transposed fresh
// TILE-NEXT: tile.stage
// TILE-NEXT: mma_start %scores, {{.*}} transposed :
// TILE-NEXT: mma_start %scores, {{.*}} transposed :
// TILE: mma_start %tile_sum, %low_weights, {{.*}} fresh
// TILE: mma_start %tile_sum, %weights
// TILE: mma_start %tile_sum, %weights

// LAUNCH: "kernel": "full_o_tops"
// LAUNCH: "kernel": "full_o_encode"
// LAUNCH: "kernel": "full_o"
// LAUNCH: "kernel": "full_o_fallback"

// HALF-NOT: _encode
