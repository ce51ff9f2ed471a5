// A factor stays with the scores if it may be negative (the largest score would be the smallest
// product) or 0 (-inf * 0), if it is not that of all scores, or if something else folds the scores.
//   scale * s, where(j <= i, a * s, b * s), scale * s + g[h], scale * s and its minimum
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @any_sign_o(
// CHECK-NOT:   scale_log2
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map {{.*}} ins(%[[S:[a-z0-9_]+]] = {{.*}}
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %scale, %[[S]]
// CHECK-NEXT:    tile.yield %[[X]]

// CHECK-LABEL: tile.kernel @zero_o(
// CHECK-NOT:   scale_log2
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map {{.*}} ins(%[[S:[a-z0-9_]+]] = {{.*}}
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %scale, %[[S]]
// CHECK-NEXT:    tile.yield %[[X]]

// CHECK-LABEL: tile.kernel @two_params_o(
// CHECK-NOT:   scale_log2
// CHECK:       tile.mma_wait 1
// CHECK:         %[[SEEN:[a-z0-9_]+]] = arith.cmpi sle, %j, %i
// CHECK-DAG:     %[[A:[a-z0-9_]+]] = arith.mulf %a, %{{[a-z0-9_]+}}
// CHECK-DAG:     %[[B:[a-z0-9_]+]] = arith.mulf %b, %{{[a-z0-9_]+}}
// CHECK:         arith.select %[[SEEN]], %[[A]], %[[B]]

// CHECK-LABEL: tile.kernel @one_term_o(
// CHECK-NOT:   scale_log2
// CHECK:       tile.mma_wait 1
// CHECK:         %[[X:[a-z0-9_]+]] = arith.mulf %scale, %{{[a-z0-9_]+}}
// CHECK-NEXT:    arith.addf %[[X]],

// CHECK-LABEL: tile.kernel @also_min_o_low(
// CHECK-NOT:   scale_log2
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map {{.*}} ins(%[[S:[a-z0-9_]+]] = {{.*}}
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %scale, %[[S]]

attn.program @any_sign dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %s_4 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %scale_3, %s_4 : f32
    attn.yield %3 : f32
  }
  %p = attn.softmax over [j] %1 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %2 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %3 = arith.mulf %p_3, %v_4 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @zero dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %s_4 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %scale_3, %s_4 : f32
    attn.yield %3 : f32
  }
  %p = attn.softmax over [j] %1 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %2 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %3 = arith.mulf %p_3, %v_4 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @two_params dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("a")
  %b = attn.param "b" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("b")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_3, %k_4 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[i], i64>, %a_3 = %a : !attn.array<[], f32>, %s_4 = %s : !attn.array<[h, i, j], f32>, %b_5 = %b : !attn.array<[], f32>) -> !attn.array<[h, i, j], f32> {
    %5 = arith.cmpi sle, %arg0, %arg1 : i64
    %6 = arith.mulf %a_3, %s_4 : f32
    %7 = arith.mulf %b_5, %s_4 : f32
    %8 = arith.select %5, %6, %7 : f32
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

attn.program @one_term dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %g = attn.input "g" : <[h], f32> loc("g")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_4, %k_5 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %g_2 = attn.read %g [h] : (!attn.array<[h], f32>) -> !attn.array<[h], f32> loc("g")
  %1 = attn.map (%scale_4 = %scale : !attn.array<[], f32>, %s_5 = %s : !attn.array<[h, i, j], f32>, %g_6 = %g_2 : !attn.array<[h], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %scale_4, %s_5 : f32
    %4 = arith.addf %3, %g_6 : f32
    attn.yield %4 : f32
  }
  %p = attn.softmax over [j] %1 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_3 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %2 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %v_5 = %v_3 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %3 = arith.mulf %p_4, %v_5 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @also_min dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %s = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %scale_3, %arg1 : f32
    attn.yield %3 : f32
  } loc("s")
  %p = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %2 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %3 = arith.mulf %p_3, %v_4 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  %low = attn.reduce min over [j] %s : <[h, i, j], f32> -> <[h, i], f32> loc("low")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
  attn.output "low" [h, i] %low as f32 : <[h, i], f32>
}
