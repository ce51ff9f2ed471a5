// RUN: attnc-opt %s --emit-cuda -o /dev/null | FileCheck %s

// Random numbers are a function of the device headers, which only kernels that use it include.
// CHECK-NOT: attnc/random.cuh
// CHECK: plain(
tile.kernel @plain("a" = %a: !tile.ptr<f32>, "x" = %x: f32) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i64
  tile.store %x, %a[%zero] : f32 -> !tile.ptr<f32>
}

// CHECK: #include "attnc/random.cuh"
// CHECK: noise(
tile.kernel @noise("a" = %a: !tile.ptr<f32>, "seed" = %seed: i64, "n" = %n: i64, "uniform" = %uniform: f32) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i64
  %three = arith.constant 3 : i64
  %column = arith.addi %n, %three : i64
  %u = attn.rand %seed at %zero, %zero, %n, %column
  // A spec's name that is the function's gets a number.
  // CHECK: a[0] = uniform(seed, 0, 0, n, n + 3) + uniform_2;
  %sum = arith.addf %u, %uniform : f32
  tile.store %sum, %a[%zero] : f32 -> !tile.ptr<f32>
}
