// RUN: attnc-opt %s --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s

// What is stored as f32 meets a 16-bit operand as f32: terms of the product may cancel.
attn.program @float_operand dims [i, c = 16, e = 16] {
  %x = attn.input "x" : !attn.array<[i, c], f32>
  %w = attn.input "w" : !attn.array<[c, e], bf16>
  // CHECK-LABEL: tile.kernel @float_operand_o
  // CHECK-NOT: tile.mma {{.*}}bf16
  // CHECK-NOT: halves
  // CHECK: tile.mma {{.*}} : <{{[0-9]+}}, 16>, !tile.operand<{{[0-9]+}}, {{[0-9]+}}, f32>, <{{[0-9]+}}, 16, f32>
  %o = red.nest grid [] row [i] stream [c] inner [e] : !attn.array<[i, e], f32> {
    %xr = attn.read %x[i, c] : (!attn.array<[i, c], f32>) -> !attn.array<[i, c], f32>
    %wr = attn.read %w[c, e] : (!attn.array<[c, e], bf16>) -> !attn.array<[c, e], f32>
    %s = red.fold add over [c] (%xr, %wr) : (!attn.array<[i, c], f32>, !attn.array<[c, e], f32>) -> !attn.array<[i, e], f32> loc("o")
    red.yield %s : !attn.array<[i, e], f32>
  } loc("o")
  attn.output "o" [i, e] %o as f32 : !attn.array<[i, e], f32>
}
