// Reciprocals of elements have no branch, around which a thread would compute one after the other; what is
// computed once for a row is divided. 1 plus an exponential is no number below the normal ones, nor is 1/2 plus a
// magnitude; an exponential may be, and so may 1e-40 plus a magnitude, or 1 less an exponential.
//   o[h,i,e] = sigmoid(gate) / exp(gate) / (abs(gate) + 1/2) / (abs(gate) + 1e-40) / (1 - exp(gate))
//              * sum(j, softmax(j, sum(d, q * k)) * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64
// RUN: %through-emit-cuda %s -o /dev/null | FileCheck %s

// CHECK: [r] == 0.0f ? 0.0f : 1.0f / {{[a-z0-9_]+}}[r];
// CHECK: const auto [[GATE:.*]] = loadFragment<bf16, 16, 64>(gate_pipe[turn]{{.*}});
// CHECK: normalReciprocal(exp(-[[GATE]][n]) + 1.0f) * reciprocal([[EXP:x_[0-9]+]]) * normalReciprocal([[ABS:x_[0-9]+]] + 0.5f) *
// CHECK-SAME: reciprocal([[ABS]] + 1e-40f) * reciprocal(1.0f - [[EXP]])

attn.program @gated dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16>
  %k = attn.input "k" : <[h, j, d], bf16>
  %v = attn.input "v" : <[h, j, e], bf16>
  %gate = attn.input "gate" : <[h, i, e], bf16>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[h, i, d], f32>, %k_5 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_4, %k_5 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %p = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32>
  %gate_2 = attn.read %gate [h, i, e] : (!attn.array<[h, i, e], bf16>) -> !attn.array<[h, i, e], f32>
  %v_3 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32>
  %1 = attn.map (%p_4 = %p : !attn.array<[h, i, j], f32>, %v_5 = %v_3 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %3 = arith.mulf %p_4, %v_5 : f32
    attn.yield %3 : f32
  }
  %2 = attn.reduce add over [j] %1 : <[h, i, j, e], f32> -> <[h, i, e], f32>
  %o = attn.map (%gate_4 = %gate_2 : !attn.array<[h, i, e], f32>, %arg1 = %2 : !attn.array<[h, i, e], f32>) -> !attn.array<[h, i, e], f32> {
    %cst = arith.constant 1.000000e+00 : f32
    %cst_5 = arith.constant 1.000000e+00 : f32
    %3 = arith.negf %gate_4 : f32
    %4 = math.exp %3 : f32
    %5 = arith.addf %cst_5, %4 : f32
    %6 = arith.divf %cst, %5 : f32
    %7 = math.exp %gate_4 : f32
    %8 = arith.divf %cst, %7 : f32
    %9 = arith.mulf %6, %8 : f32
    %magnitude = math.absf %gate_4 : f32
    %half = arith.constant 5.000000e-01 : f32
    %tiny = arith.constant 1.000000e-40 : f32
    %10 = arith.addf %magnitude, %half : f32
    %11 = arith.divf %cst, %10 : f32
    %12 = arith.mulf %9, %11 : f32
    %13 = arith.addf %magnitude, %tiny : f32
    %14 = arith.divf %cst, %13 : f32
    %15 = arith.mulf %12, %14 : f32
    %16 = arith.subf %cst, %7 : f32
    %17 = arith.divf %cst, %16 : f32
    %18 = arith.mulf %15, %17 : f32
    %19 = arith.mulf %18, %arg1 : f32
    attn.yield %19 : f32
  }
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
