// The entropy of the weights, with log p = s - m - log z written out. Multiplied out, s - (m + log z)
// would cancel: the sum is a moment of s about the running m. What is left of the centre, log z, has
// the size of its own digits and is taken away in the epilogue; m + log z would round it to those of m.
//   m = max(j, s)
//   z = sum(j, exp(s - m))
//   h = sum(j, exp(s - m) / z * (s - m - log(z)))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[Z:.*]] = red.fold add over [j]() exp(%[[S]] - %[[M]])
// CHECK-NOT:   math.log
// CHECK:       %[[C1:.*]] = red.fold add over [j]() exp(%[[S]] - %[[M]]) moment(%[[S]] - %[[M]]) above(%[[Z]])
// CHECK-NOT:   red.fold
// CHECK:       attn.map ({{.*}} = %[[C1]] : {{.*}} = %[[Z]] :
// CHECK:         %[[LOG:.*]] = math.log
// CHECK:         %[[REST:.*]] = arith.negf %[[LOG]]
// CHECK:         arith.mulf {{.*}}%[[REST]]
// CHECK-NOT:   red.fold
// CHECK:     {degree = "1", fold = "h", g = "m", rule = "moment", x = "s"}
// CHECK-NOT:   red.nest

attn.program @entropy dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %0 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %2 = attn.sub %arg0, %arg1 : f32
    %3 = math.exp %2 : f32
    attn.yield %3 : f32
  }
  %z = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("z")
  %1 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>, %arg2 = %z : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %2 = attn.sub %arg0, %arg1 : f32
    %3 = math.exp %2 : f32
    %4 = arith.divf %3, %arg2 : f32
    %5 = attn.sub %arg0, %arg1 : f32
    %6 = math.log %arg2 : f32
    %7 = attn.sub %5, %6 : f32
    %8 = arith.mulf %4, %7 : f32
    attn.yield %8 : f32
  }
  %h = attn.reduce add over [j] %1 : <[i, j], f32> -> <[i], f32> loc("h")
  attn.output "h" [i] %h as f32 : <[i], f32> loc("h")
}
