// Tiles with panels start at multiples of 1024 bytes, whatever is written before them.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='from=place through=place' %s | FileCheck %s

// CHECK:       tile.kernel @mixed({{.*}} smem 62528
// CHECK:       %pipe = tile.pipe at 0 barriers 58368
// CHECK-NEXT:  %other = tile.pipe at 0 barriers 58368
// CHECK-NEXT:  %numbers = tile.shared at 16384 : !tile.shared<1, 64, f32>
// CHECK-NEXT:  %barriers = tile.shared at 16640 : !tile.mbarriers<3>
// CHECK-NEXT:  %tile = tile.shared at 17408
// CHECK-NEXT:  %ring = tile.shared at 25600
// CHECK-NEXT:  %vectors = tile.pipe at 58400 barriers 62496

!pipe = !tile.pipe<2, <64, 64, f16, panels 64>>
!vectors = !tile.pipe<2, <1, 512, f32>>

tile.kernel @mixed() grid [1] threads 128 smem 0 {
  %pipe = tile.pipe at 0 barriers 0 users 4 : !pipe loc("pipe")
  %other = tile.pipe at 0 barriers 0 users 4 in %pipe : !pipe : !pipe loc("other")
  %numbers = tile.shared at 0 : !tile.shared<1, 64, f32> loc("numbers")
  %barriers = tile.shared at 0 : !tile.mbarriers<3> loc("barriers")
  %tile = tile.shared at 0 : !tile.shared<64, 64, f16, panels 64> loc("tile")
  %ring = tile.shared at 0 : !tile.ring<2, <64, 64, f32>> loc("ring")
  %vectors = tile.pipe at 0 barriers 0 users 4 : !vectors loc("vectors")
}
