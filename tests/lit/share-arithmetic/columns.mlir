// An integer that goes up or down by one from column to column is converted for the thread's first
// column, and the element's distance to that column is added or subtracted: conversions are as slow as
// exponentials. What all elements share multiplies both, so that the element's product is with a
// constant.
//   s + tanh(j - i // 2), s + tanh((i // 2 - j) * (i // 2 - j)), max(s, a * (j - i)), max(s, a * (3 + i - j))
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @up_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}} as %i) cols({{.*}} as %j)
// CHECK:         %[[J:[a-z0-9_]+]] = tile.first_column
// CHECK-NEXT:    %[[D:[a-z0-9_]+]] = arith.subi %[[J]], %[[HALF:[a-z0-9_]+]]
// CHECK-NEXT:    %[[F:[a-z0-9_]+]] = arith.sitofp %[[D]] : i32 to f32
// CHECK-NEXT:    %[[N:[a-z0-9_]+]] = tile.column_distance
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.addf %[[F]], %[[N]]
// CHECK-NEXT:    math.tanh %[[X]]

// CHECK-LABEL: tile.kernel @down_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}} as %i) cols({{.*}} as %j)
// CHECK:         %[[J:[a-z0-9_]+]] = tile.first_column
// CHECK-NEXT:    %[[D:[a-z0-9_]+]] = arith.subi %[[HALF:[a-z0-9_]+]], %[[J]]
// CHECK-NEXT:    %[[F:[a-z0-9_]+]] = arith.sitofp %[[D]] : i32 to f32
// CHECK-NEXT:    %[[N:[a-z0-9_]+]] = tile.column_distance
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.subf %[[F]], %[[N]]
// CHECK-NOT:     arith.sitofp
// CHECK:         %[[XX:[a-z0-9_]+]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT:    math.tanh %[[XX]]

// CHECK-LABEL: tile.kernel @factor_up_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}} as %i) cols({{.*}} as %j)
// CHECK-DAG:     %[[F:[a-z0-9_]+]] = arith.sitofp %{{[a-z0-9_]+}} : i32 to f32
// CHECK-DAG:     %[[N:[a-z0-9_]+]] = tile.column_distance
// CHECK-DAG:     %[[AF:[a-z0-9_]+]] = arith.mulf %a, %[[F]]
// CHECK-DAG:     %[[AN:[a-z0-9_]+]] = arith.mulf %a, %[[N]]
// CHECK:         arith.addf %[[AF]], %[[AN]]

// CHECK-LABEL: tile.kernel @factor_down_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}} as %i) cols({{.*}} as %j)
// CHECK:         %[[J:[a-z0-9_]+]] = tile.first_column
// CHECK-NEXT:    %[[D:[a-z0-9_]+]] = arith.subi %{{[a-z0-9_]+}}, %[[J]]
// CHECK-DAG:     %[[F:[a-z0-9_]+]] = arith.sitofp %[[D]] : i32 to f32
// CHECK-DAG:     %[[N:[a-z0-9_]+]] = tile.column_distance
// CHECK-DAG:     %[[AF:[a-z0-9_]+]] = arith.mulf %a, %[[F]]
// CHECK-DAG:     %[[AN:[a-z0-9_]+]] = arith.mulf %a, %[[N]]
// CHECK:         arith.subf %[[AF]], %[[AN]]

attn.program @up dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_3, %k_4 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %arg1 = %1 : !attn.array<[j], i64>, %arg2 = %2 : !attn.array<[i], i64>) -> !attn.array<[h, i, j], f32> {
    %c2_i64 = arith.constant 2 : i64
    %half = arith.floordivsi %arg2, %c2_i64 : i64
    %5 = arith.subi %arg1, %half : i64
    %6 = arith.sitofp %5 : i64 to f32
    %7 = math.tanh %6 fastmath<afn> : f32
    %8 = arith.maximumf %s_3, %7 : f32
    attn.yield %8 : f32
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

attn.program @down dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_3, %k_4 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index i : <[i], i64>
  %2 = attn.index j : <[j], i64>
  %3 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %arg1 = %1 : !attn.array<[i], i64>, %arg2 = %2 : !attn.array<[j], i64>) -> !attn.array<[h, i, j], f32> {
    %cst = arith.constant 1.000000e+00 : f32
    %c2_i64 = arith.constant 2 : i64
    %half = arith.floordivsi %arg1, %c2_i64 : i64
    %5 = arith.subi %half, %arg2 : i64
    %6 = arith.sitofp %5 : i64 to f32
    %7 = arith.mulf %cst, %6 : f32
    %8 = arith.subi %half, %arg2 : i64
    %9 = arith.sitofp %8 : i64 to f32
    %10 = arith.mulf %7, %9 : f32
    %11 = math.tanh %10 fastmath<afn> : f32
    %12 = arith.addf %s_3, %11 : f32
    attn.yield %12 : f32
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

attn.program @factor_up dims [h, i, d = 64, j, e = 64] {
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
    %6 = arith.sitofp %5 : i64 to f32
    %7 = arith.mulf %a_4, %6 : f32
    %8 = arith.maximumf %s_3, %7 : f32
    attn.yield %8 : f32
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

attn.program @factor_down dims [h, i, d = 64, j, e = 64] {
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
  %1 = attn.index i : <[i], i64>
  %2 = attn.index j : <[j], i64>
  %3 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>, %arg2 = %1 : !attn.array<[i], i64>, %arg3 = %2 : !attn.array<[j], i64>) -> !attn.array<[h, i, j], f32> {
    %c3_i64 = arith.constant 3 : i64
    %5 = arith.addi %c3_i64, %arg2 : i64
    %6 = arith.subi %5, %arg3 : i64
    %7 = arith.sitofp %6 : i64 to f32
    %8 = arith.mulf %a_4, %7 : f32
    %9 = arith.maximumf %s_3, %8 : f32
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
