// An output of packed sequences: the nest that computes a row stores it where its sequence has it, and
// neither what looks for the sequence of each row nor what reads the padded result is left.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="through=pack-results target=sm_80" %s | FileCheck %s
// Loops of the CPU store it padded.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline="through=pack-results target=cpu" %s | FileCheck %s --check-prefix=PADDED

// CHECK:     %[[PLACE:.*]]:2 = red.nest grid [b] row [] stream [n] inner [] : !attn.array<[b], i64>, !attn.array<[b], i64>
// CHECK:     %[[O:.*]] = red.nest grid [i, b] row [] stream [] inner [] : !attn.array<[i, b], f32>
// CHECK:     %[[ROWS:.*]] = red.pack %[[O]] along "i" from %[[PLACE]]#0 count %[[PLACE]]#1
// CHECK-NOT: red.nest
// CHECK:     attn.output "o" [i_rows] %[[ROWS]]
// PADDED-NOT: red.pack
// PADDED:     attn.output "o" [i_rows] %{{.*}}

attn.program @packed dims [i, n, b, i_rows] attributes {attn.reference = {i_rows = 9 : i64, n = 4 : i64}} {
  %x = attn.input "x" : <[i_rows], f32>
  %cu = attn.input "cu" : <[n], i32>
  %0 = attn.size i_rows : <[], i64>
  attn.extent i %0 : <[], i64>
  %1 = attn.size n : <[], i64>
  %b = attn.map (%arg0 = %1 : !attn.array<[], i64>) -> !attn.array<[], i64> {
    %c1_i64 = arith.constant 1 : i64
    %4 = arith.subi %arg0, %c1_i64 : i64
    attn.yield %4 : i64
  }
  attn.extent b %b : <[], i64>
  %2 = attn.index b : <[b], i64>
  %3 = attn.map (%arg0 = %2 : !attn.array<[b], i64>) -> !attn.array<[b], i64> {
    %c1_i64 = arith.constant 1 : i64
    %4 = arith.addi %arg0, %c1_i64 : i64
    attn.yield %4 : i64
  }
  %cu_0 = attn.read %cu [%3] : (!attn.array<[n], i32>, !attn.array<[b], i64>) -> !attn.array<[b], i64>
  %cu_1 = attn.read %cu [b] : (!attn.array<[n], i32>) -> !attn.array<[b], i64>
  %i_given = attn.map (%cu_16 = %cu_0 : !attn.array<[b], i64>, %cu_17 = %cu_1 : !attn.array<[b], i64>) -> !attn.array<[b], i64> {
    %4 = arith.subi %cu_16, %cu_17 : i64
    attn.yield %4 : i64
  }
  attn.extent i %i_given {attn.rows = "i_rows"} : <[b], i64>
  %i_given_2 = attn.size i : <[], i64>
  %i_length = attn.map (%i_given_16 = %i_given : !attn.array<[b], i64>, %i_given_17 = %i_given_2 : !attn.array<[], i64>) -> !attn.array<[b], i64> {
    %i_given_18 = arith.constant 0 : i64
    %i_given_19 = arith.maxsi %i_given_16, %i_given_18 : i64
    %i_given_20 = arith.minsi %i_given_19, %i_given_17 : i64
    attn.yield %i_given_20 : i64
  }
  %cu_3 = attn.read %cu [b] : (!attn.array<[n], i32>) -> !attn.array<[b], i64>
  %x_4 = attn.index i : <[i], i64>
  %i_row = attn.map (%x_16 = %x_4 : !attn.array<[i], i64>, %i_length_17 = %i_length : !attn.array<[b], i64>, %cu_18 = %cu_3 : !attn.array<[b], i64>) -> !attn.array<[i, b], i64> {
    %x_19 = arith.cmpi slt, %x_16, %i_length_17 : i64
    %x_20 = arith.addi %cu_18, %x_16 : i64
    %x_21 = arith.constant -1 : i64
    %x_22 = arith.select %x_19, %x_20, %x_21 : i64
    attn.yield %x_22 : i64
  }
  %x_5 = attn.read %x [%i_row] else 0.000000e+00 {attn.checked = [""]} : (!attn.array<[i_rows], f32>, !attn.array<[i, b], i64>) -> !attn.array<[i, b], f32>
  %o = attn.map (%x_16 = %x_5 : !attn.array<[i, b], f32>) -> !attn.array<[i, b], f32> {
    %cst = arith.constant 2.000000e+00 : f32
    %4 = arith.mulf %x_16, %cst : f32
    attn.yield %4 : f32
  }
  %o_6 = attn.index n : <[n], i64>
  %o_7 = attn.read %cu [n] : (!attn.array<[n], i32>) -> !attn.array<[n], i64>
  %o_8 = attn.map (%o_16 = %o_6 : !attn.array<[n], i64>, %arg1 = %2 : !attn.array<[b], i64>, %o_17 = %o_7 : !attn.array<[n], i64>, %arg3 = %0 : !attn.array<[], i64>) -> !attn.array<[n, b], i64> {
    %o_18 = arith.cmpi sge, %o_16, %arg1 : i64
    %o_19 = arith.select %o_18, %o_17, %arg3 : i64
    %o_20 = arith.minsi %o_19, %arg3 : i64
    %o_21 = arith.constant 0 : i64
    %o_22 = arith.maxsi %o_20, %o_21 : i64
    attn.yield %o_22 : i64
  }
  %i_first = attn.reduce min over [n] %o_8 : <[n, b], i64> -> <[b], i64>
  %o_9 = attn.read %cu [n] : (!attn.array<[n], i32>) -> !attn.array<[n], i64>
  %o_10 = attn.map (%o_16 = %o_6 : !attn.array<[n], i64>, %arg1 = %2 : !attn.array<[b], i64>, %o_17 = %o_9 : !attn.array<[n], i64>, %arg3 = %0 : !attn.array<[], i64>) -> !attn.array<[n, b], i64> {
    %o_18 = arith.cmpi sgt, %o_16, %arg1 : i64
    %o_19 = arith.select %o_18, %o_17, %arg3 : i64
    %o_20 = arith.minsi %o_19, %arg3 : i64
    %o_21 = arith.constant 0 : i64
    %o_22 = arith.maxsi %o_20, %o_21 : i64
    attn.yield %o_22 : i64
  }
  %i_end = attn.reduce min over [n] %o_10 : <[n, b], i64> -> <[b], i64>
  %i_stored = attn.map (%cu_16 = %cu_3 : !attn.array<[b], i64>, %i_first_17 = %i_first : !attn.array<[b], i64>, %i_end_18 = %i_end : !attn.array<[b], i64>, %i_given_19 = %i_given_2 : !attn.array<[], i64>) -> !attn.array<[b], i64> {
    %o_20 = arith.cmpi eq, %cu_16, %i_first_17 : i64
    %o_21 = arith.subi %i_end_18, %i_first_17 : i64
    %o_22 = arith.minsi %o_21, %i_given_19 : i64
    %o_23 = arith.constant 0 : i64
    %o_24 = arith.select %o_20, %o_22, %o_23 : i64
    attn.yield %o_24 : i64
  }
  %o_11 = attn.index i_rows : <[i_rows], i64>
  %o_12 = attn.map (%o_16 = %o_11 : !attn.array<[i_rows], i64>, %i_first_17 = %i_first : !attn.array<[b], i64>, %i_stored_18 = %i_stored : !attn.array<[b], i64>, %arg3 = %2 : !attn.array<[b], i64>) -> !attn.array<[b, i_rows], i64> {
    %o_19 = arith.subi %o_16, %i_first_17 : i64
    %o_20 = arith.constant 0 : i64
    %o_21 = arith.cmpi sge, %o_19, %o_20 : i64
    %o_22 = arith.cmpi slt, %o_19, %i_stored_18 : i64
    %o_23 = arith.andi %o_21, %o_22 : i1
    %o_24 = arith.constant -1 : i64
    %o_25 = arith.select %o_23, %arg3, %o_24 : i64
    attn.yield %o_25 : i64
  }
  %b_of_row = attn.reduce max over [b] %o_12 : <[b, i_rows], i64> -> <[i_rows], i64>
  %o_13 = attn.read %cu_3 [%b_of_row] else 0.000000e+00 {attn.checked = [""]} : (!attn.array<[b], i64>, !attn.array<[i_rows], i64>) -> !attn.array<[i_rows], i64>
  %i_of_row = attn.map (%o_16 = %o_11 : !attn.array<[i_rows], i64>, %o_17 = %o_13 : !attn.array<[i_rows], i64>) -> !attn.array<[i_rows], i64> {
    %o_18 = arith.subi %o_16, %o_17 : i64
    attn.yield %o_18 : i64
  }
  %o_14 = attn.read %i_length [%b_of_row] else 0.000000e+00 {attn.checked = [""]} : (!attn.array<[b], i64>, !attn.array<[i_rows], i64>) -> !attn.array<[i_rows], i64>
  %i_kept = attn.map (%i_of_row_16 = %i_of_row : !attn.array<[i_rows], i64>, %o_17 = %o_14 : !attn.array<[i_rows], i64>) -> !attn.array<[i_rows], i64> {
    %o_18 = arith.cmpi slt, %i_of_row_16, %o_17 : i64
    %o_19 = arith.constant -1 : i64
    %o_20 = arith.select %o_18, %i_of_row_16, %o_19 : i64
    attn.yield %o_20 : i64
  }
  %o_15 = attn.read %o [%i_kept, %b_of_row] else 0.000000e+00 {attn.checked = ["", ""], attn.packed = "i"} : (!attn.array<[i, b], f32>, !attn.array<[i_rows], i64>, !attn.array<[i_rows], i64>) -> !attn.array<[i_rows], f32>
  attn.output "o" [i_rows] %o_15 as f32 : <[i_rows], f32>
}
