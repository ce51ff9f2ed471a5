// Factors that all elements share are multiplied with each other first, once: params, the head's slope,
// reciprocals. A product that something else needs too stays.
//   tanh(s * a * b), tanh(a * (s * g[h]) * b), tanh(s * a / b), tanh(r * b) + r with r = s * a
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @two_o(
// CHECK:       tile.mma_wait 1
// CHECK:       %[[AB:[a-z0-9_]+]] = arith.mulf %a, %b
// CHECK-NEXT:  tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %[[S]], %[[AB]]
// CHECK-NEXT:    math.tanh %[[X]]

// CHECK-LABEL: tile.kernel @three_o(
// CHECK:       %[[G:[a-z0-9_]+]] = tile.load %g[
// CHECK:       tile.mma_wait 1
// CHECK:       %[[GA:[a-z0-9_]+]] = arith.mulf %[[G]], %a
// CHECK-NEXT:  %[[GAB:[a-z0-9_]+]] = arith.mulf %[[GA]], %b
// CHECK-NEXT:  tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %[[S]], %[[GAB]]
// CHECK-NEXT:    math.tanh %[[X]]

// CHECK-LABEL: tile.kernel @quotient_o(
// CHECK:       tile.mma_wait 1
// CHECK:       %[[R:[a-z0-9_]+]] = arith.divf %{{[a-z0-9_]+}}, %b
// CHECK-NEXT:  %[[AR:[a-z0-9_]+]] = arith.mulf %a, %[[R]]
// CHECK-NEXT:  tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %[[S]], %[[AR]]
// CHECK-NEXT:    math.tanh %[[X]]

// CHECK-LABEL: tile.kernel @used_twice_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[R:[a-z0-9_]+]] = arith.mulf %[[S]], %a
// CHECK-NEXT:    %[[RB:[a-z0-9_]+]] = arith.mulf %[[R]], %b
// CHECK-NEXT:    %[[T:[a-z0-9_]+]] = math.tanh %[[RB]]
// CHECK-NEXT:    arith.addf %[[T]], %[[R]]

attn.program @two dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" -> <[], f32> loc("a")
  %b = attn.param "b" -> <[], f32> loc("b")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>, %b_5 = %b : !attn.array<[], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %s_3, %a_4 : f32
    %4 = arith.mulf %3, %b_5 : f32
    %5 = math.tanh %4 fastmath<afn> : f32
    attn.yield %5 : f32
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

attn.program @three dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %g = attn.input "g" : <[h], f32> loc("g")
  %a = attn.param "a" -> <[], f32> loc("a")
  %b = attn.param "b" -> <[], f32> loc("b")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_4, %k_5 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %g_2 = attn.read %g [h] : (!attn.array<[h], f32>) -> !attn.array<[h], f32> loc("g")
  %1 = attn.map (%a_4 = %a : !attn.array<[], f32>, %s_5 = %s : !attn.array<[h, i, j], f32>, %g_6 = %g_2 : !attn.array<[h], f32>, %b_7 = %b : !attn.array<[], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %s_5, %g_6 : f32
    %4 = arith.mulf %a_4, %3 : f32
    %5 = arith.mulf %4, %b_7 : f32
    %6 = math.tanh %5 fastmath<afn> : f32
    attn.yield %6 : f32
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

attn.program @quotient dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" -> <[], f32> loc("a")
  %b = attn.param "b" -> <[], f32> loc("b")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>, %b_5 = %b : !attn.array<[], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %s_3, %a_4 : f32
    %4 = arith.divf %3, %b_5 : f32
    %5 = math.tanh %4 fastmath<afn> : f32
    attn.yield %5 : f32
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

attn.program @used_twice dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %a = attn.param "a" -> <[], f32> loc("a")
  %b = attn.param "b" -> <[], f32> loc("b")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %r = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %a_4 = %a : !attn.array<[], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %s_3, %a_4 : f32
    attn.yield %3 : f32
  } loc("r")
  %1 = attn.map (%r_3 = %r : !attn.array<[h, i, j], f32>, %b_4 = %b : !attn.array<[], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %r_3, %b_4 : f32
    %4 = math.tanh %3 fastmath<afn> : f32
    %5 = arith.addf %4, %r_3 : f32
    attn.yield %5 : f32
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
