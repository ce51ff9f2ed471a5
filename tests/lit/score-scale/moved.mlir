// A positive factor that all scores share joins log2(e) in the exponent: scores and running maxima are
// without it.
//   scale * s, where(j <= i, scale * s, -inf), cap * tanh(s), scale * s and its sum
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": false
// RUN: %through-all %s | FileCheck %s

// The exponent, and what decides whether the reference moves.
// CHECK-LABEL: tile.kernel @positive_o(
// CHECK:       %[[C:[a-z0-9_]+]] = arith.mulf %scale, %cst{{.*}} : f32
// CHECK:       tile.mma_wait 1 for %s :
// CHECK:       scf.if
// CHECK-NEXT:  } else {
// CHECK-NOT:   arith.mulf
// CHECK:       tile.any
// CHECK:         %[[TOP:[a-z0-9_]+]] = arith.mulf %{{[a-z0-9_]+}}, %[[C]]
// CHECK-NEXT:    %[[M:[a-z0-9_]+]] = arith.mulf %{{[a-z0-9_]+}}, %[[C]]
// CHECK-NEXT:    %[[LIMIT:[a-z0-9_]+]] = arith.addf %[[M]],
// CHECK-NEXT:    arith.cmpf ugt, %[[TOP]], %[[LIMIT]]
// CHECK:         %[[MOVED:[a-z0-9_]+]] = arith.subf
// CHECK-NEXT:    %[[BY:[a-z0-9_]+]] = arith.mulf %[[MOVED]], %[[C]]
// CHECK-NEXT:    math.exp2 %[[BY]]
// CHECK:       math.fma %{{[a-z0-9_]+}}, %[[C]],
// CHECK-NEXT:  math.exp2

// CHECK-LABEL: tile.kernel @masked_o(
// CHECK:       %[[C:[a-z0-9_]+]] = arith.mulf %scale,
// CHECK:       tile.mma_wait 1
// CHECK:       scf.if
// CHECK-NEXT:  } else {
// CHECK-NEXT:    tile.map {{.*}} ins(%[[S:[a-z0-9_]+]] = {{.*}}
// CHECK:           %[[SEEN:[a-z0-9_]+]] = arith.cmpi sle, %j, %i
// CHECK-NEXT:      arith.select %[[SEEN]], %[[S]], %cst{{.*}} {red.full = true}
// CHECK:       math.fma %{{[a-z0-9_]+}}, %[[C]],

// CHECK-LABEL: tile.kernel @capped_o(
// CHECK:       %[[C:[a-z0-9_]+]] = arith.mulf %cap,
// CHECK:       tile.mma_wait 1
// CHECK:       tile.map {{.*}} ins(%[[S:[a-z0-9_]+]] = {{.*}}
// CHECK-NEXT:    %[[X:[a-z0-9_]+]] = math.tanh %[[S]]
// CHECK-NEXT:    tile.yield %[[X]]
// CHECK:       math.fma %{{[a-z0-9_]+}}, %[[C]],

// A sum of the scores has them with the factor.
// CHECK-LABEL: tile.kernel @also_summed_o_total(
// CHECK:       %[[C:[a-z0-9_]+]] = arith.mulf %scale,
// CHECK:       tile.mma_wait 1 for %[[S:[a-z0-9_]+]] :
// CHECK:       math.fma %{{[a-z0-9_]+}}, %[[C]],
// CHECK:       tile.map {{.*}} ins(%[[X:[a-z0-9_]+]] = %[[S]] : {{.*}}) outs(%[[W:[a-z0-9_]+]] : {{.*}}) {
// CHECK-NEXT:    arith.mulf %scale, %[[X]]
// CHECK:       tile.reduce_rows add %[[W]] into %total

attn.program @positive dims [h, i, d = 64, j, e = 64] {
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

attn.program @masked dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %5 = arith.mulf %q_3, %k_4 : f32
    attn.yield %5 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.index j : <[j], i64>
  %2 = attn.index i : <[i], i64>
  %3 = attn.map (%arg0 = %1 : !attn.array<[j], i64>, %arg1 = %2 : !attn.array<[i], i64>, %scale_3 = %scale : !attn.array<[], f32>, %s_4 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %5 = arith.cmpi sle, %arg0, %arg1 : i64
    %6 = arith.mulf %scale_3, %s_4 : f32
    %cst = arith.constant 0xFF800000 : f32
    %7 = arith.select %5, %6, %cst : f32
    attn.yield %7 : f32
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

attn.program @capped dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %cap = attn.param "cap" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("cap")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %1 = attn.map (%cap_3 = %cap : !attn.array<[], f32>, %s_4 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = math.tanh %s_4 fastmath<afn> : f32
    %4 = arith.mulf %cap_3, %3 : f32
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

attn.program @also_summed dims [h, i, d = 64, j, e = 64] {
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
  %total = attn.reduce add over [j] %s : <[h, i, j], f32> -> <[h, i], f32> loc("total")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
  attn.output "total" [h, i] %total as f32 : <[h, i], f32>
}
