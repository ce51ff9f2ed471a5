// Numbers that are a multiple of the slots plus a constant have a known slot. Of powers of two the CUDA
// compiler knows it; of other numbers nobody does.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='from=fix-slots through=fix-slots' %s | FileCheck %s
// RUN: attnc-opt --attnc-pipeline='from=fix-slots through=fix-slots' %s | attnc-opt | FileCheck %s --check-prefix=AGAIN

// CHECK:      scf.for %[[T:arg1]] =
// CHECK:        %[[NUMBER:.*]] = tile.slot_number %{{.*}}[2] of 3
// CHECK-NEXT:   tile.acquire %three[%[[NUMBER]]]
// CHECK:        %[[BELOW:.*]] = tile.slot_number %{{.*}}[1] of 3
// CHECK-NEXT:   tile.acquire %three[%[[BELOW]]]
// CHECK:        tile.acquire %four[%n]
// CHECK:        tile.acquire %three[%[[T]]]
// AGAIN:      tile.slot_number %{{.*}}[2] of 3

!tile = !tile.shared<64, 64, f16, panels 64>
!three = !tile.pipe<3, <64, 64, f16, panels 64>>
!four = !tile.pipe<4, <64, 64, f16, panels 64>>

tile.kernel @numbers("count" = %count: i32) grid [1] threads 256 smem 57520 attributes {tile.clean_up = {sizes = []}} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %c6 = arith.constant 6 : i32
  %c-2 = arith.constant -2 : i32
  %three = tile.pipe at 0 barriers 57344 users 4 : !three loc("three")
  %four = tile.pipe at 24576 barriers 57400 users 4 : !four loc("four")
  tile.start_pipes %three, %four : !three, !four
  tile.role "load" warps 0 count 4 registers 24 {
    tile.single {
      scf.for %t = %c0 to %count step %c1 : i32 {
        %six = arith.muli %t, %c6 : i32
        %n = arith.addi %six, %c5 : i32 loc("n")
        tile.acquire %three[%n] : !three
        %m = arith.addi %six, %c-2 : i32
        tile.acquire %three[%m] : !three
        tile.acquire %four[%n] : !four
        tile.acquire %three[%t] : !three
      } loc("t")
    }
  }
  tile.role "compute" warps 4 count 4 registers 240 {
  }
}
