// RUN: attnc-opt %s --emit-cuda --split-input-file --verify-diagnostics -o /dev/null | FileCheck %s

// What a loop carries are variables; they are assigned all at once, and hold the loop's results.
// CHECK-LABEL: {{^}}gcd(
// CHECK:       i64 [[A:[a-z0-9_]+]] = n;
// CHECK-NEXT:  i64 [[B:[a-z0-9_]+]] = m;
// CHECK-NEXT:  while ([[B]] != 0) {
// CHECK-NEXT:    const i64 [[NEXT:[a-z0-9_]+]] = [[B]];
// CHECK-NEXT:    [[B]] = [[A]] % [[B]];
// CHECK-NEXT:    [[A]] = [[NEXT]];
// CHECK-NEXT:  }
// CHECK-NEXT:  o[0] = [[A]];
tile.kernel @gcd("o" = %o: !tile.ptr<i64>, "n" = %n: i64, "m" = %m: i64) grid [1] threads 128 smem 0 {
  %zero = arith.constant 0 : i64
  %first = arith.constant 0 : i64
  %r:2 = scf.while (%a = %n, %b = %m) : (i64, i64) -> (i64, i64) {
    %left = arith.cmpi ne, %b, %zero : i64
    scf.condition(%left) %a, %b : i64, i64
  } do {
  ^bb0(%a: i64, %b: i64):
    %rest = arith.remsi %a, %b : i64
    scf.yield %b, %rest : i64, i64
  }
  tile.store %r#0, %o[%first] : i64 -> !tile.ptr<i64>
}

// -----

// What it passes on is what it carries.
tile.kernel @swaps("o" = %o: !tile.ptr<i64>, "n" = %n: i64, "m" = %m: i64) grid [1] threads 128 smem 0 {
  %zero = arith.constant 0 : i64
  // expected-error @+1 {{decides by more than an expression of what it carries}}
  %r:2 = scf.while (%a = %n, %b = %m) : (i64, i64) -> (i64, i64) {
    %left = arith.cmpi ne, %b, %zero : i64
    scf.condition(%left) %b, %a : i64, i64
  } do {
  ^bb0(%a: i64, %b: i64):
    scf.yield %a, %b : i64, i64
  }
}
