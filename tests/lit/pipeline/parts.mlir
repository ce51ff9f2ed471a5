// A part of the pipeline has its first and its last pass, and no others.
// RUN: %through-lower-to-nests %s | attnc-opt --attnc-pipeline='from=reassociate through=fuse-nests' \
// RUN:   --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s
// RUN: not attnc-opt %s --attnc-pipeline=through=fuse 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not attnc-opt %s --attnc-pipeline='from=split through=desugar' 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not attnc-opt %s '--choose-schedules=override={row_tile}' 2>&1 | FileCheck %s --check-prefix=JSON

// CHECK-NOT: lower-to-nests
// CHECK:     reassociate
// CHECK:     fuse-nests
// CHECK-NOT: hoist-vectors
// NAME:  the pipeline has no pass 'fuse'
// ORDER: the pass 'split' follows 'desugar'
// JSON:  override is not JSON: {row_tile}

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
