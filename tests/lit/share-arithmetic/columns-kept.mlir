// Steeper than one a column, not linear, or the same in all columns: converted for each element.
//   2 * j - i, j * j, a difference whose absolute value is taken, i
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @steep_o(
// CHECK-NOT:   tile.first_column
// CHECK:       tile.mma_wait 1
// CHECK-NOT:   tile.first_column
// CHECK:         %[[D:[a-z0-9_]+]] = arith.muli %{{[a-z0-9_]+}}, %c2_i64
// CHECK:         arith.sitofp

// CHECK-LABEL: tile.kernel @square_o(
// CHECK-NOT:   tile.first_column
// CHECK:       tile.mma_wait 1
// CHECK-NOT:   tile.first_column
// CHECK:         %[[D:[a-z0-9_]+]] = arith.muli %[[J:[a-z0-9_]+]], %[[J]]
// CHECK-NEXT:    arith.sitofp %[[D]]

// CHECK-LABEL: tile.kernel @distance_o(
// CHECK-NOT:   tile.first_column
// CHECK:       tile.mma_wait 1
// CHECK-NOT:   tile.first_column
// CHECK:         %[[D:[a-z0-9_]+]] = math.absi
// CHECK-NEXT:    arith.sitofp %[[D]]

// CHECK-LABEL: tile.kernel @row_o(
// CHECK-NOT:   tile.first_column
// CHECK:       tile.mma_wait 1
// CHECK-NOT:   tile.first_column
// CHECK:         arith.sitofp %i : i32 to f32

attn.program @steep dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" -> <[], f32> loc("a")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_3, %k_4 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>, %arg2 = %1 : !attn.array<[j], i64>, %arg3 = %2 : !attn.array<[i], i64>) -> !attn.array<[h, i, j], f32> {
    %c2_i64 = arith.constant 2 : i64
    %5 = arith.muli %c2_i64, %arg2 : i64
    %6 = arith.subi %5, %arg3 : i64
    %7 = arith.sitofp %6 : i64 to f32
    %8 = arith.mulf %a_4, %7 : f32
    %9 = arith.addf %s_3, %8 : f32
    attn.yield %9 : f32
  }
  %p = attn.softmax over [j] %3 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %4 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %5 = arith.mulf %p_3, %v_4 : f32
    attn.yield %5 : f32
  }
  %o = attn.reduce add over [j] %4 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @square dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" -> <[], f32> loc("a")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_3, %k_4 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>, %arg2 = %1 : !attn.array<[j], i64>) -> !attn.array<[h, i, j], f32> {
    %4 = arith.muli %arg2, %arg2 : i64
    %5 = arith.sitofp %4 : i64 to f32
    %6 = arith.mulf %a_4, %5 : f32
    %7 = arith.addf %s_3, %6 : f32
    attn.yield %7 : f32
  }
  %p = attn.softmax over [j] %2 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %3 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %4 = arith.mulf %p_3, %v_4 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %3 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @distance dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" -> <[], f32> loc("a")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_3, %k_4 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>, %arg2 = %1 : !attn.array<[j], i64>, %arg3 = %2 : !attn.array<[i], i64>) -> !attn.array<[h, i, j], f32> {
    %5 = arith.subi %arg2, %arg3 : i64
    %6 = math.absi %5 : i64
    %7 = arith.sitofp %6 : i64 to f32
    %8 = arith.mulf %a_4, %7 : f32
    %9 = arith.addf %s_3, %8 : f32
    attn.yield %9 : f32
  }
  %p = attn.softmax over [j] %3 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %4 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %5 = arith.mulf %p_3, %v_4 : f32
    attn.yield %5 : f32
  }
  %o = attn.reduce add over [j] %4 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @row dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" -> <[], f32> loc("a")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %4 = arith.mulf %q_3, %k_4 : f32
    attn.yield %4 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index i : <[i], i64>
  %2 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>, %arg2 = %1 : !attn.array<[i], i64>) -> !attn.array<[h, i, j], f32> {
    %4 = arith.sitofp %arg2 : i64 to f32
    %5 = arith.mulf %a_4, %4 : f32
    %6 = arith.mulf %s_3, %5 : f32
    attn.yield %6 : f32
  }
  %p = attn.softmax over [j] %2 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %3 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %4 = arith.mulf %p_3, %v_4 : f32
    attn.yield %4 : f32
  }
  %o = attn.reduce add over [j] %3 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
