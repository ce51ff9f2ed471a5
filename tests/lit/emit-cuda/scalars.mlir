// RUN: attnc-opt %s --emit-cuda -o /dev/null | FileCheck %s

// Parentheses where the tree of operations needs them and nowhere else; literals that read back as
// the same float; carried values assigned as if at once.
tile.kernel @scalars("a" = %a: !tile.ptr<f32>, "int" = %int: !tile.ptr<f32>, "n" = %n: i64, "x" = %x: f32, "y" = %y: f32) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %sum = arith.addf %x, %y : f32
  %left = arith.subf %sum, %x : f32
  %again = arith.addf %x, %y : f32
  %right = arith.subf %x, %again : f32
  %product = arith.mulf %left, %right : f32
  // CHECK: a[0] = (x + y - x) * (x - (x + y));
  tile.store %product, %a[%zero] : f32 -> !tile.ptr<f32>

  %tenth = arith.constant 0.1 : f32
  %tiny = arith.constant 1.0e-45 : f32
  %third = arith.constant 0.333333343 : f32
  %scaled = arith.mulf %tenth, %tiny : f32
  %literals = arith.addf %scaled, %third : f32
  // CHECK-NEXT: a[1] = 0.1f * 1e-45f + 0.33333334f;
  tile.store %literals, %a[%one] : f32 -> !tile.ptr<f32>

  %down = arith.floordivsi %n, %two : i64
  %rest = attn.mod %down, %n : i64
  %real = arith.sitofp %rest : i64 to f32
  %minus = attn.sub %real, %x : f32
  %unordered = arith.cmpf ult, %minus, %y : f32
  %chosen = arith.select %unordered, %x, %y : f32
  // A spec's name that is a word of the language gets a number.
  // CHECK-NEXT: int_2[2] = !(minus(f32(floorModulus<i64>(floorDivide<i64>(n, 2), n)), x) >= y) ? x : y;
  tile.store %chosen, %int[%two] : f32 -> !tile.ptr<f32>

  %p, %q = scf.for %i = %zero to %n step %one iter_args(%u = %x, %v = %y) -> (f32, f32) : i64 {
    scf.yield %v, %u : f32, f32
  }
  // CHECK: f32 [[U:x_[0-9]+]] = x;
  // CHECK-NEXT: f32 [[V:x_[0-9]+]] = y;
  // CHECK-NEXT: for (i64 t = 0; t < n; ++t) {
  // CHECK-NEXT: const f32 next = [[V]];
  // CHECK-NEXT: [[V]] = [[U]];
  // CHECK-NEXT: [[U]] = next;
  tile.store %p, %a[%zero] : f32 -> !tile.ptr<f32>
  tile.store %q, %a[%one] : f32 -> !tile.ptr<f32>
}

// The reciprocal of an element has no branch, that of a normal number is one instruction; other quotients
// are CUDA's.
// CHECK-LABEL: quotients(
tile.kernel @quotients("a" = %a: !tile.ptr<f32>, "x" = %x: f32) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %marked = arith.divf %one, %x fastmath<arcp> : f32
  %plain = arith.divf %one, %x : f32
  %other = arith.divf %two, %x fastmath<arcp> : f32
  %normal = arith.divf %one, %x fastmath<arcp,afn> : f32
  %some = arith.addf %marked, %plain : f32
  %more = arith.addf %some, %other : f32
  %all = arith.addf %more, %normal : f32
  // CHECK: a[0] = reciprocal(x) + 1.0f / x + 2.0f / x + normalReciprocal(x);
  tile.store %all, %a[%zero] : f32 -> !tile.ptr<f32>
}
