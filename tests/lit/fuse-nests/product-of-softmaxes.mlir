// A product of two sets of weights has the sum of the logits for an exponent. The maxima that the
// weights were relative to are taken away from its maximum as one sum, added up as the exponent is:
// where one key has all three the difference is 0 without any rounding, also for logits of 1e4.
//   m = max(j, s), n = max(j, t)
//   r = sum(j, exp(s - m) * exp((t - n) * 0.3) * y)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[S:.*]] = attn.read %s [i, j]
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       %[[T:.*]] = attn.read %t [i, j]
// CHECK:       %[[N:.*]] = red.fold max over [j](%[[T]])
// CHECK:       %[[A:.*]] = attn.map ({{.*}} = %[[S]] : {{.*}} = %[[T]] :
// CHECK:         %[[SCALED:.*]] = arith.mulf
// CHECK:         arith.addf {{.*}}, %[[SCALED]]
// CHECK:       %[[AM:.*]] = red.fold max over [j](%[[A]])
// CHECK:       red.fold add over [j]({{.*}}) exp(%[[A]] - %[[AM]])
// CHECK:       attn.map (
// CHECK:         %[[SCALEDMAX:.*]] = arith.mulf
// CHECK:         %[[MAXIMA:.*]] = arith.addf {{.*}}, %[[SCALEDMAX]]
// CHECK:         %[[GAP:.*]] = attn.sub {{.*}}, %[[MAXIMA]]
// CHECK:         math.exp %[[GAP]]
// CHECK-NOT:   red.fold
// CHECK-NOT: red.nest

attn.program @product dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %t = attn.input "t" : <[i, j], f32> loc("t")
  %y = attn.input "y" : <[j], f32>
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %t_0 = attn.read %t [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("t")
  %y_0 = attn.read %y [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %n = attn.reduce max over [j] %t_0 : <[i, j], f32> -> <[i], f32> loc("n")
  %0 = attn.map (%arg0 = %s_0 : !attn.array<[i, j], f32>, %arg1 = %m : !attn.array<[i], f32>, %arg2 = %t_0 : !attn.array<[i, j], f32>, %arg3 = %n : !attn.array<[i], f32>, %arg4 = %y_0 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %c = arith.constant 3.000000e-01 : f32
    %1 = attn.sub %arg0, %arg1 : f32
    %2 = math.exp %1 : f32
    %3 = attn.sub %arg2, %arg3 : f32
    %4 = arith.mulf %3, %c : f32
    %5 = math.exp %4 : f32
    %6 = arith.mulf %2, %5 : f32
    %7 = arith.mulf %6, %arg4 : f32
    attn.yield %7 : f32
  }
  %r = attn.reduce add over [j] %0 : <[i, j], f32> -> <[i], f32> loc("r")
  attn.output "r" [i] %r as f32 : <[i], f32> loc("r")
}
