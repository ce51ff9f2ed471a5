// log of the normalised weight mixes the stream with the sum: another pass, and the note says why.
//   p = softmax(j, s)
//   h = sum(j, p * log(p))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [i] row [] stream [j] inner []
// CHECK:     red.nest grid [i] row [] stream [j] inner []
// CHECK:       math.log
// CHECK:     red.notes = ["`h` needs another pass over j: `log`
// CHECK-NOT:   red.nest

attn.program @refused_log dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %0 = attn.map (%arg0 = %p : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %1 = math.log %arg0 : f32
    %2 = arith.mulf %arg0, %1 : f32
    attn.yield %2 : f32
  }
  %h = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("h")
  attn.output "h" [i] %h as f32 : <[i], f32> loc("h")
}
