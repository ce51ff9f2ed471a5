// Head dims: operands have their own widths, in panels of 64 columns; the last panel of one that no
// multiple of 64 fills is as wide as a panel in memory, and its copy gives zeros beyond the tensor.
// One fill copies all panels; products have the columns of the operand.
//   p = softmax(j, scale * sum(d, q * k))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "producer_registers": 24, "consumer_registers": 240, "ping_pong": false, "persistent": true
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @wide_40_40_o(
// CHECK-SAME:    "q_map" = %q_map: !tile.tensor_map<[64, 128, 1], bf16>, "k_map" = %k_map: !tile.tensor_map<[64, 64, 1], bf16>, "v_map" = %v_map: !tile.tensor_map<[64, 64, 1], bf16>
// CHECK:       %q_pipe = tile.pipe {{.*}} : <1, <128, 40, bf16, panels 128>>
// CHECK:       %k_pipe = tile.pipe {{.*}} : <2, <64, 40, bf16, panels 64>>
// CHECK:       %v_pipe = tile.pipe {{.*}} : <2, <64, 40, bf16, panels 64>>
// CHECK:       tile.fill %k_pipe{{.*}} from %k_map(%c0_i32, %{{[a-z0-9_]+}}) :
// CHECK:       %[[O:[a-z0-9_]+]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 40>
// CHECK:       %scores = tile.registers : !tile.fragment<16, 64>
// CHECK:       tile.mma_start %scores, {{.*}} transposed fresh : <16, 64>, !tile.shared<64, 40, bf16, panels 128>, <64, 40, bf16, panels 64>
// CHECK:       tile.mma_start %[[O]], %weights, {{.*}} : <16, 40>, !tile.operand<16, 64, bf16>, <64, 40, bf16, panels 64>

// CHECK-LABEL: tile.kernel @wide_96_96_o(
// CHECK-SAME:    "q_map" = %q_map: !tile.tensor_map<[64, 128, 1], bf16>, "k_map" = %k_map: !tile.tensor_map<[64, 64, 1], bf16>, "v_map" = %v_map: !tile.tensor_map<[64, 64, 1], bf16>
// CHECK:       %q_pipe = tile.pipe {{.*}} : <1, <128, 96, bf16, panels 128>>
// CHECK:       %k_pipe = tile.pipe {{.*}} : <2, <64, 96, bf16, panels 64>>
// CHECK:       %v_pipe = tile.pipe {{.*}} : <2, <64, 96, bf16, panels 64>>
// CHECK:       tile.fill %k_pipe{{.*}} from %k_map(%c0_i32, %{{[a-z0-9_]+}}) :
// CHECK:       %[[O:[a-z0-9_]+]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 96>
// CHECK:       %scores = tile.registers : !tile.fragment<16, 64>
// CHECK:       tile.mma_start %scores, {{.*}} transposed fresh : <16, 64>, !tile.shared<64, 96, bf16, panels 128>, <64, 96, bf16, panels 64>
// CHECK:       tile.mma_start %[[O]], %weights, {{.*}} : <16, 96>, !tile.operand<16, 64, bf16>, <64, 96, bf16, panels 64>

// CHECK-LABEL: tile.kernel @wide_192_128_o(
// CHECK-SAME:    "q_map" = %q_map: !tile.tensor_map<[64, 128, 1], bf16>, "k_map" = %k_map: !tile.tensor_map<[64, 64, 1], bf16>, "v_map" = %v_map: !tile.tensor_map<[64, 64, 1], bf16>
// CHECK:       %q_pipe = tile.pipe {{.*}} : <1, <128, 192, bf16, panels 128>>
// CHECK:       %k_pipe = tile.pipe {{.*}} : <2, <64, 192, bf16, panels 64>>
// CHECK:       %v_pipe = tile.pipe {{.*}} : <2, <64, 128, bf16, panels 64>>
// CHECK:       tile.fill %k_pipe{{.*}} from %k_map(%c0_i32, %{{[a-z0-9_]+}}) :
// CHECK:       %[[O:[a-z0-9_]+]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 128>
// CHECK:       %scores = tile.registers : !tile.fragment<16, 64>
// CHECK:       tile.mma_start %scores, {{.*}} transposed fresh : <16, 64>, !tile.shared<64, 192, bf16, panels 128>, <64, 192, bf16, panels 64>
// CHECK:       tile.mma_start %[[O]], %weights, {{.*}} : <16, 128>, !tile.operand<16, 64, bf16>, <64, 128, bf16, panels 64>

attn.program @wide_40_40 dims [h, i, d = 40, j, e = 40] {
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
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @wide_96_96 dims [h, i, d = 96, j, e = 96] {
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
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}

attn.program @wide_192_128 dims [h, i, d = 192, j, e = 128] {
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
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
