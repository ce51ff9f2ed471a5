// Another last bit could make a comparison, or a rounding to a whole number, another one: nothing is
// shared on the way there.
//   floor(s / cap), where(s * cap * 0.5 < 1, s, 0)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @stepped_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.divf %[[S]], %cap
// CHECK-NEXT:    math.floor %[[X]]

// CHECK-LABEL: tile.kernel @compared_o(
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = {{.*}}) outs({{.*}}) {
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = arith.mulf %[[S]], %cap
// CHECK-NEXT:    %[[Y:[a-z0-9_]+]] = arith.mulf %[[X]], %
// CHECK-NEXT:    arith.cmpf olt, %[[Y]]

attn.program @stepped dims [h, i, d = 64, j, e = 64] {
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
    %4 = math.floor %3 : f32
    attn.yield %4 : f32
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

attn.program @compared dims [h, i, d = 64, j, e = 64] {
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
    %half = arith.constant 5.000000e-01 : f32
    %cst = arith.constant 1.000000e+00 : f32
    %zero = arith.constant 0.000000e+00 : f32
    %3 = arith.mulf %s_3, %cap_4 : f32
    %4 = arith.mulf %3, %half : f32
    %5 = arith.cmpf olt, %4, %cst : f32
    %6 = arith.select %5, %s_3, %zero : f32
    attn.yield %6 : f32
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

