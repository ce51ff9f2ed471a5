// A sum over near rows is a product behind the stream: the rows around those of the block come as one
// tile, from before the first row on, and each group multiplies its part of them by a band of weights.
// RUN: attnc compile %S/../../e2e/specs/near_rows.json --target sm_90a --emit cuda -o %t.cu --schedule %S/Inputs/near-rows.json
// RUN: FileCheck %s < %t.cu

// CHECK: PanelTile<f16, 144, 64>, 1> v_pipe{
// CHECK: PanelTile<f16, 144, 64>, 1> x_pipe{
// CHECK: v_pipe.fill(turn, v_map2, i0 - 4, h, b);
// CHECK: x_pipe.fill(turn, x_map, i0 - 3, b);
// CHECK: Accumulator<16, 80> band;
// CHECK: const i32 row = warp_row - group * 64 + band.row(n);
// CHECK: convertOperand(band_operand, band);
// CHECK: v_pipe.await(turn);
// CHECK: startAB<kFresh>(near, band_operand, v_pipe[turn].rows<80>(group * 64));
// CHECK: waitProducts<0>(near);
// CHECK: v_pipe.release(turn);
// CHECK: startAB<kFresh>(before, band_operand_2, x_pipe[turn].rows<80>(group * 64));
