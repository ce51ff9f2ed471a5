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

// A lane computes blocks of numbers for several of its elements where rows and columns are those of the tile, whose
// columns begin at a multiple of 16. A comparison with a limit of all elements is one of integers.
// CHECK: lanes(
tile.kernel @lanes("seed" = %seed: i64, "keep" = %keep: f32, "n" = %n: i32) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i32
  %sixteen = arith.constant 16 : i32
  %none = arith.constant 0.0 : f32
  %h = arith.constant 0 : i64
  %x = tile.registers : !tile.fragment<16, 16>
  %j0 = arith.muli %n, %sixteen : i32
  // CHECK: LaneUniforms [[U:.*]];
  // CHECK: for (
  // CHECK: const bool below = [[U]].nextIsBelow(keep, n_2, seed, 0, 0, i64(row), i64(column));
  // CHECK: x[n_2] = below ? x[n_2] : 0.0f;
  tile.map rows(%zero as %i) cols(%j0 as %j) ins(%e = %x : !tile.fragment<16, 16>) outs(%x : !tile.fragment<16, 16>) {
    %z = arith.extsi %i : i32 to i64
    %c = arith.extsi %j : i32 to i64
    %u = attn.rand %seed at %h, %h, %z, %c
    %is = arith.cmpf olt, %u, %keep : f32
    %kept = arith.select %is, %e, %none : f32
    tile.yield %kept : f32
  }
  // The number itself.
  // CHECK: const f32 random = {{.*}}.next(
  tile.map rows(%zero as %i) cols(%j0 as %j) ins(%e = %x : !tile.fragment<16, 16>) outs(%x : !tile.fragment<16, 16>) {
    %z = arith.extsi %i : i32 to i64
    %c = arith.extsi %j : i32 to i64
    %u = attn.rand %seed at %h, %h, %z, %c
    %s = arith.mulf %u, %e : f32
    tile.yield %s : f32
  }
  // Columns that are no multiple of 16, or begin anywhere, and an index that is not the row: each element
  // computes its own.
  // CHECK-NOT: LaneUniforms
  %y = tile.registers : !tile.fragment<32, 24>
  tile.map rows(%zero as %i) cols(%j0 as %j) ins() outs(%y : !tile.fragment<32, 24>) {
    %z = arith.extsi %i : i32 to i64
    %c = arith.extsi %j : i32 to i64
    // CHECK: uniform(
    %u = attn.rand %seed at %h, %h, %z, %c
    tile.yield %u : f32
  }
  tile.map rows(%zero as %i) cols(%n as %j) ins(%e = %x : !tile.fragment<16, 16>) outs(%x : !tile.fragment<16, 16>) {
    %z = arith.extsi %i : i32 to i64
    %c = arith.extsi %j : i32 to i64
    // CHECK: uniform(
    %u = attn.rand %seed at %h, %h, %z, %c
    %s = arith.mulf %u, %e : f32
    tile.yield %s : f32
  }
  tile.map rows(%zero as %i) cols(%j0 as %j) ins(%e = %x : !tile.fragment<16, 16>) outs(%x : !tile.fragment<16, 16>) {
    %z = arith.extsi %i : i32 to i64
    %c = arith.extsi %j : i32 to i64
    // CHECK: uniform(
    %u = attn.rand %seed at %h, %z, %h, %c
    %s = arith.mulf %u, %e : f32
    tile.yield %s : f32
  }
}
