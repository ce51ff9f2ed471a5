// RUN: attnc-opt %s --emit-cuda -o /dev/null | FileCheck %s

// The statement and the name of a location may hold anything: in the text they are one comment and one
// name.
#line = loc("x"(fused<"x = 1\0Aint injected;\0D\5C">["a.json":1:1]))
#name = loc("y;\0Aint injected;//"(fused<"y = */ 2 \E2\80\A8 \5C">["a.json":2:1]))
// CHECK-NOT: int injected
// CHECK:     // x = 1 int injected; ?
// CHECK-NEXT: const f32 x = o[0] * o[1];
// CHECK-NEXT: // y = */ 2 ? ?
// CHECK-NEXT: const f32 y_u3B_uAint_u20injected_u3B_u2F_u2F = x + x;
// CHECK-NOT: int injected
tile.kernel @comments("o" = %o: !tile.ptr<f32>) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %a = tile.load %o[%zero] : !tile.ptr<f32> -> f32
  %b = tile.load %o[%one] : !tile.ptr<f32> -> f32
  %x = arith.mulf %a, %b : f32 loc(#line)
  %y = arith.addf %x, %x : f32 loc(#name)
  tile.store %y, %o[%zero] : f32 -> !tile.ptr<f32>
  tile.store %y, %o[%one] : f32 -> !tile.ptr<f32>
}
