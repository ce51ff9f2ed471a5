// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @all("k" = %{{.*}}: !tile.ptr<f16>, "size_j" = %{{.*}}: i64) grid {{\[\[}}"ceildiv", ["size", "j"], 32]] threads 32 smem 16384 attributes {min_blocks = 2 : i64} {
tile.kernel @all("k" = %k: !tile.ptr<f16>, "size_j" = %size: i64) grid [["ceildiv", ["size", "j"], 32]] threads 32 smem 16384 attributes {min_blocks = 2 : i64} {
  %zero = arith.constant 0 : i64
  %t = arith.constant 0 : i32
  // CHECK: tile.block
  %block = tile.block
  // CHECK: %[[WARP:.*]] = tile.warp
  %warp = tile.warp
  // CHECK: %[[A:.*]] = tile.shared at 0 : !tile.shared<16, 64, f16>
  %a = tile.shared at 0 : !tile.shared<16, 64, f16>
  // CHECK: tile.shared at 15360 : !tile.ptr<f32, shared>
  %array = tile.shared at 15360 : !tile.ptr<f32, shared>
  // CHECK: %[[RING:.*]] = tile.shared at 2048 : !tile.ring<2, <32, 64, f16>>
  %ring = tile.shared at 2048 : !tile.ring<2, <32, 64, f16>>
  // CHECK: %[[B:.*]] = tile.stage %[[RING]][%{{.*}}] : !tile.ring<2, <32, 64, f16>> -> <32, 64, f16>
  %b = tile.stage %ring[%t] : !tile.ring<2, <32, 64, f16>> -> !tile.shared<32, 64, f16>
  // CHECK: tile.copy %{{.*}}[%{{.*}}] stride %{{.*}} rows %{{.*}} to %[[B]] vector 16
  tile.copy %k[%zero] stride %size rows %t to %b vector 16 : !tile.ptr<f16> -> !tile.shared<32, 64, f16>
  // CHECK-NEXT: tile.commit
  tile.commit
  // CHECK-NEXT: tile.wait 0
  tile.wait 0
  // CHECK-NEXT: tile.barrier
  tile.barrier
  // CHECK-NEXT: %[[S:.*]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 32>
  %s = tile.registers all 0.0 : !tile.fragment<16, 32>
  // CHECK-NEXT: %[[M:.*]] = tile.registers : !tile.rows<16>
  %m = tile.registers : !tile.rows<16>
  // CHECK-NEXT: tile.mma %[[S]], %[[A]], %[[B]] transposed
  tile.mma %s, %a, %b transposed : !tile.fragment<16, 32>, !tile.shared<16, 64, f16>, !tile.shared<32, 64, f16>
  // CHECK-NEXT: tile.map rows(%[[WARP]] as %[[I:.*]]) cols(%{{.*}} as %[[J:.*]]) ins(%[[X:.*]] = %[[S]] : !tile.fragment<16, 32>, %{{.*}} = %[[M]] : !tile.rows<16>) outs(%[[S]] : !tile.fragment<16, 32>)
  tile.map rows(%warp as %i) cols(%t as %j) ins(%x = %s : !tile.fragment<16, 32>, %y = %m : !tile.rows<16>) outs(%s : !tile.fragment<16, 32>) {
    // CHECK: arith.cmpi sle, %[[J]], %[[I]]
    %seen = arith.cmpi sle, %j, %i : i32
    %r = arith.select %seen, %x, %y : f32
    tile.yield %r : f32
  }
  // CHECK: tile.reduce_rows max %[[S]] into %[[M]]
  tile.reduce_rows max %s into %m : !tile.fragment<16, 32>, !tile.rows<16>
  // CHECK-NEXT: tile.reduce_quad max %[[M]]
  tile.reduce_quad max %m : !tile.rows<16>
  // CHECK-NEXT: tile.scale_rows %[[S]] by %[[M]]
  tile.scale_rows %s by %m : !tile.fragment<16, 32>, !tile.rows<16>
}
