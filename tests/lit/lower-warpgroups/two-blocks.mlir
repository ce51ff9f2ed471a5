// Rows that fill one group leave room for a second block on the multiprocessor, and persistent blocks are
// then twice as many. A stream that is known to fit in a tile is one tile.
// RUN: attnc compile nystrom --set T=f16 --target sm_90a --emit tile -o %t.tile --schedule %S/Inputs/parts.json --print-ir-after lower-nests 2> %t.ir
// RUN: FileCheck %s < %t.ir
// RUN: attnc compile nystrom --set T=f16 --set m=64 --set d=128 --set e=128 --target sm_90a --emit tile -o %t.tile --print-ir-after lower-nests 2> %t.ir
// RUN: FileCheck %s --check-prefix=WHOLE < %t.ir

// CHECK: tile.kernel @nystrom_value_2_g_max_g_sum_gv(
// CHECK-SAME: ["mul", ["multiprocessors"], 2]
// CHECK-SAME: groups = 1, stream_tile = 64,
// CHECK-SAME: producer_registers = 40, consumer_registers = 216

// WHOLE: tile.kernel @nystrom_o(
// WHOLE-SAME: groups = 2, stream_tile = 64,
