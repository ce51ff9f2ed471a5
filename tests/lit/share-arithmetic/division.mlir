// A division by what all elements share is a product with its reciprocal, computed once, or once for a
// row; one of what they share by an element stays.
//   s / cap, s / 3, s / t[i], cap / (1 + exp(s))
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @by_param_o(
// CHECK:       tile.mma_wait 1
// CHECK:       %[[R:[a-z0-9_]+]] = arith.divf %{{[a-z0-9_]+}}, %cap
// CHECK-NEXT:  tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %[[S]], %[[R]]
// CHECK-NEXT:    tile.yield %[[X]]

// CHECK-LABEL: tile.kernel @by_literal_o(
// CHECK:       %[[R:[a-z0-9_]+]] = arith.constant 0.333333343
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %[[S]], %[[R]]
// CHECK-NEXT:    tile.yield %[[X]]

// CHECK-LABEL: tile.kernel @by_row_o(
// CHECK:       tile.mma_wait 1
// CHECK:       %[[R:[a-z0-9_]+]] = tile.registers : !tile.rows<16>
// CHECK:       tile.map rows({{.*}}) ins() outs(%[[R]] : {{.*}}) {
// CHECK:         %[[T:[a-z0-9_]+]] = tile.load %t[
// CHECK:         %[[X:[a-z0-9_]+]] = arith.divf %{{.*}}, %[[T]]
// CHECK-NEXT:    tile.yield %[[X]]
// CHECK:       tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}, %[[Q:[a-z0-9_]+]] = %[[R]] : {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %[[S]], %[[Q]]
// CHECK-NEXT:    tile.yield %[[X]]

// CHECK-LABEL: tile.kernel @of_param_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[E:[a-z0-9_]+]] = math.exp %[[S]]
// CHECK-NEXT:    %[[D:[a-z0-9_]+]] = arith.addf %[[E]], %{{[a-z0-9_]+}}
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.divf %cap, %[[D]]
// CHECK-NEXT:    tile.yield %[[X]]

attn.program @by_param dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %cap = attn.param "cap" -> <[], f32> loc("cap")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>, %cap_4 = %cap : !attn.array<[], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.divf %s_3, %cap_4 : f32
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

attn.program @by_literal dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%s_3 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %cst = arith.constant 3.000000e+00 : f32
    %3 = arith.divf %s_3, %cst : f32
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

attn.program @by_row dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %t = attn.input "t" : <[i], f32> loc("t")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_4, %k_5 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %t_2 = attn.read %t [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32> loc("t")
  %1 = attn.map (%s_4 = %s : !attn.array<[h, i, j], f32>, %t_5 = %t_2 : !attn.array<[i], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.divf %s_4, %t_5 : f32
    attn.yield %3 : f32
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

attn.program @of_param dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %cap = attn.param "cap" -> <[], f32> loc("cap")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%cap_3 = %cap : !attn.array<[], f32>, %s_4 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %cst = arith.constant 1.000000e+00 : f32
    %3 = math.exp %s_4 : f32
    %4 = arith.addf %cst, %3 : f32
    %5 = arith.divf %cap_3, %4 : f32
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
