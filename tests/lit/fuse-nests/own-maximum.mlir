// A maximum of (s g) y, g a result, is g times the maximum of s y, and so is found in the same pass.
// Where it is compared with what it is taken of it has to be one of the elements to the last digit:
// then it is folded in a pass of its own, of the elements themselves.
//   g = exp(max(j, s))
//   x = max(j, s * g * y)
//   a = s * g * y
//   m = max(j, a)
//   r = sum(j, where(a > m, a, 0))
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK-LABEL: attn.program @apart
// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       red.fold max over [j]
// CHECK:       red.fold max over [j]
// CHECK-NOT:   red.nest
attn.program @apart dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %y = attn.input "y" : <[j], f32> loc("y")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %y_0 = attn.read %y [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32> loc("y")
  %g = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("g")
  %a = attn.map (%x0 = %s_0 : !attn.array<[i, j], f32>, %x1 = %g : !attn.array<[i], f32>, %x2 = %y_0 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %e = math.exp %x1 : f32
    %1 = arith.mulf %x0, %e : f32
    %2 = arith.mulf %1, %x2 : f32
    attn.yield %2 : f32
  } loc("a")
  %m = attn.reduce max over [j] %a : <[i, j], f32> -> <[i], f32> loc("m")
  attn.output "m" [i] %m as f32 : <[i], f32> loc("m")
}

// CHECK-LABEL: attn.program @compared
// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       red.fold max over [j]
// CHECK-NOT:   red.fold
// CHECK:     red.nest grid [] row [i] stream [j] inner []
// CHECK:       %[[A:.*]] = attn.map ({{.*}} = %{{.*}} : !attn.array<[i, j], f32>, {{.*}} : !attn.array<[i], f32>)
// CHECK:         math.exp
// CHECK:       red.fold max over [j](%[[A]])
attn.program @compared dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %y = attn.input "y" : <[j], f32> loc("y")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %y_0 = attn.read %y [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32> loc("y")
  %g = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("g")
  %a = attn.map (%x0 = %s_0 : !attn.array<[i, j], f32>, %x1 = %g : !attn.array<[i], f32>, %x2 = %y_0 : !attn.array<[j], f32>) -> !attn.array<[i, j], f32> {
    %e = math.exp %x1 : f32
    %1 = arith.mulf %x0, %e : f32
    %2 = arith.mulf %1, %x2 : f32
    attn.yield %2 : f32
  } loc("a")
  %m = attn.reduce max over [j] %a : <[i, j], f32> -> <[i], f32> loc("m")
  %c = attn.map (%x0 = %a : !attn.array<[i, j], f32>, %x1 = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %z = arith.constant 0.0 : f32
    %1 = arith.cmpf ogt, %x0, %x1 : f32
    %2 = arith.select %1, %x0, %z : f32
    attn.yield %2 : f32
  }
  %r = attn.reduce add over [j] %c : <[i, j], f32> -> <[i], f32> loc("r")
  attn.output "r" [i] %r as f32 : <[i], f32> loc("r")
}
