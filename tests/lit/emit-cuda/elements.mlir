// RUN: attnc-opt %s --emit-cuda -o /dev/null | FileCheck %s

// How elements lie in memory: numbers of 16 bits are structs of the device headers, a condition
// takes a byte, and an unsigned byte is not a signed one.
// CHECK: elements(const f16 *__restrict__ h, const bf16 *__restrict__ b, const f32 *__restrict__ f,
// CHECK-NEXT: const double *__restrict__ d, const bool *__restrict__ c, const signed char *__restrict__ s,
// CHECK-NEXT: const unsigned char *__restrict__ u, const i32 *__restrict__ i, i64 *__restrict__ l)
tile.kernel @elements("h" = %h: !tile.ptr<f16>, "b" = %b: !tile.ptr<bf16>, "f" = %f: !tile.ptr<f32>, "d" = %d: !tile.ptr<f64>, "c" = %c: !tile.ptr<i1>, "s" = %s: !tile.ptr<i8>, "u" = %u: !tile.ptr<ui8>, "i" = %i: !tile.ptr<i32>, "l" = %l: !tile.ptr<i64>) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i64
  %signed = tile.load %s[%zero] : !tile.ptr<i8> -> i64
  %unsigned = tile.load %u[%zero] : !tile.ptr<ui8> -> i64
  %sum = arith.addi %signed, %unsigned : i64
  // CHECK: l[0] = i64(s[0]) + i64(u[0]);
  tile.store %sum, %l[%zero] : i64 -> !tile.ptr<i64>
}
