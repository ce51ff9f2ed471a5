// A power distributes over products: (exp(s - m))^3 is exp(s * 3 - m * 3), and x * x * x is no other
// exponent than x^3. So both are one state beside the sum of x.
//   x = exp(s - max(j, s))
//   o = sum(j, x ** 3) + sum(j, x * x * x) + sum(j, x)
// RUN: %through-fuse-nests %s | FileCheck %s

// CHECK:     red.nest {{.*}} stream [j]
// CHECK-DAG:   %[[A:.*]] = attn.map ({{.*}} : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
// CHECK-DAG:   arith.mulf {{.*}}, %[[THREE:.*]] : f32
// CHECK:       red.fold add over [j]() exp(
// CHECK:       red.fold add over [j]() exp(
// CHECK-NOT:   red.fold add
// CHECK-NOT:   math.powf
// CHECK-NOT: red.nest
attn.program @cubes dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %m = attn.reduce max over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("m")
  %x = attn.map (%a = %s_0 : !attn.array<[i, j], f32>, %b = %m : !attn.array<[i], f32>) -> !attn.array<[i, j], f32> {
    %1 = attn.sub %a, %b : f32
    %2 = math.exp %1 : f32
    attn.yield %2 : f32
  } loc("x")
  %y = attn.map (%a = %x : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %n = arith.constant 3.0 : f32
    %1 = math.powf %a, %n : f32
    attn.yield %1 : f32
  }
  %z = attn.map (%a = %x : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %1 = arith.mulf %a, %a : f32
    %2 = arith.mulf %1, %a : f32
    attn.yield %2 : f32
  }
  %sy = attn.reduce add over [j] %y : <[i, j], f32> -> <[i], f32>
  %sz = attn.reduce add over [j] %z : <[i, j], f32> -> <[i], f32>
  %sx = attn.reduce add over [j] %x : <[i, j], f32> -> <[i], f32>
  %o = attn.map (%a = %sy : !attn.array<[i], f32>, %b = %sz : !attn.array<[i], f32>, %c = %sx : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %1 = arith.addf %a, %b : f32
    %2 = arith.addf %1, %c : f32
    attn.yield %2 : f32
  }
  attn.output "o" [i] %o as f32 : <[i], f32> loc("o")
}
