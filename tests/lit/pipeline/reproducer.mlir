// A pass that fails leaves a file with the program as it came and the passes with what they were told:
// it fails again.
// RUN: not attnc-opt %s --attnc-pipeline='target=sm_80 override={"row_tile": 96, "form": "portable"}' \
// RUN:   --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=FILE < %t.mlir
// RUN: not attnc-opt --run-reproducer %t.mlir 2>&1 | FileCheck %s

// CHECK: row_tile is 96; with 4 warps it is a multiple of 64
// FILE:  attn.softmax
// FILE:  choose-schedules{override={\22form\22:\22portable\22,\22row_tile\22:96} target=sm_80}

attn.program @softmax_sugar dims [i, j, e = 16] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>, %arg1 = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.mulf %arg0, %arg1 : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
