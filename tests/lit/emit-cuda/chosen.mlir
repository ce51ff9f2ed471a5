// RUN: attnc-opt %s --emit-cuda -o /dev/null | FileCheck %s

// What a select chooses from is computed before it where it is a function: a conditional expression would
// branch around it for each element.
// CHECK-LABEL: chosen(
// CHECK:       const f32 [[X:[a-z0-9_]+]] = expf(s[n]);
// CHECK:       s[n] = s[n] > 0.0f ? s[n] + 1.0f : [[X]];
tile.kernel @chosen() grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i32
  %s = tile.registers all 0.0 : !tile.fragment<16, 16> loc("s")
  tile.map rows(%zero as %i) cols(%zero as %j) ins(%x = %s : !tile.fragment<16, 16>) outs(%s : !tile.fragment<16, 16>) {
    %none = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %more = arith.cmpf ogt, %x, %none : f32
    %y = arith.addf %x, %one : f32
    %e = math.exp %x : f32
    %w = arith.select %more, %y, %e : f32
    tile.yield %w : f32
  }
}
