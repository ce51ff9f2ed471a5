// RUN: attnc-opt %s -split-input-file -verify-diagnostics

tile.kernel @roles() grid [1] threads 256 smem 0 {
  tile.role "load" warps 0 count 4 registers 24 {
  }
  // expected-error @+1 {{starts at warp 0, not at 4}}
  tile.role "compute" warps 0 count 4 registers 240 {
  }
}

// -----

tile.kernel @warps() grid [1] threads 256 smem 0 {
  // expected-error @+1 {{and the other roles leave warps over}}
  tile.role "load" warps 0 count 4 registers 24 {
  }
}

// -----

tile.kernel @registers() grid [1] threads 512 smem 0 {
  // expected-error @+1 {{and the other roles take 66560 registers of 512 x 128}}
  tile.role "load" warps 0 count 4 registers 40 {
  }
  tile.role "compute" warps 4 count 12 registers 160 {
  }
}

// -----

// 65536 registers are there, but 384 threads start with 168 each.
tile.kernel @equal_shares() grid [1] threads 384 smem 0 {
  // expected-error @+1 {{and the other roles take 65536 registers of 384 x 168}}
  tile.role "load" warps 0 count 4 registers 32 {
  }
  tile.role "compute" warps 4 count 8 registers 240 {
  }
}

// -----

tile.kernel @steps_of_8() grid [1] threads 128 smem 0 {
  // expected-error @+1 {{has 100 registers: not a multiple of 8 from 24 to 256}}
  tile.role "all" warps 0 count 4 registers 100 {
  }
}

// -----

tile.kernel @beyond() grid [1] threads 128 smem 16384 {
  // expected-error @+1 {{ends at 16400 of 16384 bytes}}
  %p = tile.pipe at 0 barriers 16384 users 4 : <1, <64, 128, bf16, panels 64>>
}

// -----

tile.kernel @overlap() grid [1] threads 128 smem 65536 {
  %p = tile.pipe at 0 barriers 40000 users 4 : <2, <64, 128, bf16, panels 64>>
  // expected-error @+1 {{overlaps the pipe at 0}}
  %q = tile.pipe at 16384 barriers 50000 users 4 : <1, <64, 128, bf16, panels 64>>
}

// -----

tile.kernel @barriers_inside() grid [1] threads 128 smem 65536 {
  // expected-error @+1 {{has barriers inside its slots}}
  %p = tile.pipe at 0 barriers 1024 users 4 : <2, <64, 128, bf16, panels 64>>
}

// -----

tile.kernel @alignment() grid [1] threads 128 smem 65536 {
  // expected-error @+1 {{lies at 512 with barriers at 40000: not multiples of 1024 and 8}}
  %p = tile.pipe at 512 barriers 40000 users 4 : <2, <64, 128, bf16, panels 64>>
}

// -----

tile.kernel @users() grid [1] threads 128 smem 65536 {
  // expected-error @+1 {{has 8 users and 0 writers among 4 warps}}
  %p = tile.pipe at 0 barriers 40000 users 8 : <2, <64, 128, bf16, panels 64>>
}

// -----

tile.kernel @started_twice() grid [1] threads 128 smem 65536 {
  %k = tile.pipe at 0 barriers 40000 users 4 : <2, <64, 128, bf16, panels 64>>
  // Tiles of two kinds may take turns in one pipe.
  %v = tile.pipe at 0 barriers 40000 users 4 : <2, <32, 256, bf16, panels 32>>
  // expected-error @+1 {{starts the pipe at 0 twice}}
  tile.start_pipes %k, %v : !tile.pipe<2, <64, 128, bf16, panels 64>>, !tile.pipe<2, <32, 256, bf16, panels 32>>
}

// -----

tile.kernel @box("k" = %k: !tile.tensor_map<[64, 320, 1], bf16>) grid [1] threads 128 smem 65536 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 50000 users 4 : <1, <320, 64, bf16, panels 320>>
  tile.single {
    // expected-error @+1 {{an axis has 1 to 256 elements}}
    tile.fill %p[%n] from %k(%n, %n) : !tile.pipe<1, <320, 64, bf16, panels 320>>, !tile.tensor_map<[64, 320, 1], bf16>
  }
}

// -----

tile.kernel @coordinates("k" = %k: !tile.tensor_map<[64, 64, 1], bf16>) grid [1] threads 128 smem 65536 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 50000 users 4 : <1, <64, 64, bf16, panels 64>>
  tile.single {
    // expected-error @+1 {{has 1 coordinates for a box of rank 3}}
    tile.fill %p[%n] from %k(%n) : !tile.pipe<1, <64, 64, bf16, panels 64>>, !tile.tensor_map<[64, 64, 1], bf16>
  }
}

// -----

tile.kernel @everybody("k" = %k: !tile.tensor_map<[64, 64, 1], bf16>) grid [1] threads 128 smem 65536 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 50000 users 4 : <1, <64, 64, bf16, panels 64>>
  // expected-error @+1 {{belongs into a tile.single}}
  tile.fill %p[%n] from %k(%n, %n) : !tile.pipe<1, <64, 64, bf16, panels 64>>, !tile.tensor_map<[64, 64, 1], bf16>
}

// -----

tile.kernel @writers() grid [1] threads 128 smem 65536 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 50000 users 4 : <1, <64, 64, bf16, panels 64>>
  // expected-error @+1 {{completes a tile that copies fill}}
  tile.complete %p[%n] : !tile.pipe<1, <64, 64, bf16, panels 64>>
}

// -----

tile.kernel @barrier_number() grid [1] threads 128 smem 0 {
  %n = arith.constant 16 : i32
  // expected-error @+1 {{uses barrier 16 of 1 to 15}}
  tile.barrier_sync %n threads 128
}

// -----

tile.kernel @part_of_a_warp() grid [1] threads 128 smem 0 {
  %n = arith.constant 1 : i32
  // expected-error @+1 {{waits for 48 threads, not whole warps of the block}}
  tile.barrier_arrive %n threads 48
}

// -----

tile.kernel @too_many() grid [1] threads 128 smem 0 {
  %n = arith.constant 1 : i32
  // expected-error @+1 {{waits for 256 threads, not whole warps of the block}}
  tile.barrier_sync %n threads 256
}

// -----

// expected-error @+1 {{is launched with a pointer to shared memory}}
tile.kernel @launched("a" = %a: !tile.ptr<f32, shared>) grid [1] threads 128 smem 1024 {
}

// -----

tile.kernel @pointer() grid [1] threads 128 smem 1024 {
  // expected-error @+1 {{is a pointer to global memory}}
  %a = tile.shared at 0 : !tile.ptr<f32>
}

// -----

tile.kernel @columns() grid [1] threads 128 smem 65536 {
  %n = arith.constant 0 : i32
  %a = tile.shared at 0 : !tile.shared<64, 128, bf16, panels 64>
  // expected-error @+1 {{not some of its columns}}
  %b = tile.columns %a[%n] : !tile.shared<64, 128, bf16, panels 64> -> !tile.shared<32, 64, bf16, panels 64>
}

// -----

tile.kernel @product() grid [1] threads 128 smem 65536 {
  %a = tile.shared at 0 : !tile.shared<64, 64, bf16, panels 64>
  %b = tile.shared at 8192 : !tile.shared<32, 128, bf16, panels 32>
  %c = tile.registers all 0.0 : !tile.fragment<16, 128>
  // expected-error @+1 {{multiplies 16x64 by 32x128 into 16x128}}
  tile.mma_start %c, %a, %b : !tile.fragment<16, 128>, !tile.shared<64, 64, bf16, panels 64>, !tile.shared<32, 128, bf16, panels 32>
}

// -----

tile.kernel @no_panels() grid [1] threads 128 smem 65536 {
  %a = tile.shared at 0 : !tile.shared<64, 64, bf16>
  %b = tile.shared at 8192 : !tile.shared<32, 64, bf16, panels 32>
  %c = tile.registers all 0.0 : !tile.fragment<16, 32>
  // expected-error @+1 {{which has no panels}}
  tile.mma_start %c, %a, %b transposed : !tile.fragment<16, 32>, !tile.shared<64, 64, bf16>, !tile.shared<32, 64, bf16, panels 32>
}

// -----

tile.kernel @counter("c" = %c: !tile.ptr<f32>) grid [1] threads 128 smem 0 {
  %zero = arith.constant 0 : i64
  %n = arith.constant 1 : i32
  // expected-error @+1 {{not i32}}
  %last = tile.last_block %c[%zero] of %n barrier %n threads 128 : !tile.ptr<f32>
}

// -----

tile.kernel @added("x" = %x: !tile.ptr<bf16>) grid [1] threads 128 smem 4096 {
  %zero = arith.constant 0 : i64
  %a = tile.shared at 0 : !tile.shared<1, 1024, f32>
  tile.single {
    // expected-error @+1 {{not a row of f32}}
    tile.add_bulk %a to %x[%zero] : !tile.shared<1, 1024, f32> -> !tile.ptr<bf16>
  }
}

// -----

tile.kernel @lanes() grid [1] threads 128 smem 4096 {
  %a = tile.shared at 0 : !tile.shared<1, 512, f32>
  %x = tile.registers all 0.0 : !tile.fragment<16, 64>
  // expected-error @+1 {{not a row of as many f32}}
  tile.store_lanes %x to %a : !tile.fragment<16, 64>, !tile.shared<1, 512, f32>
}

// -----

tile.kernel @converted_rows() grid [1] threads 128 smem 0 {
  %x = tile.registers all 0.0 : !tile.fragment<32, 64>
  %p = tile.registers : !tile.operand<16, 64, bf16>
  // expected-error @+1 {{not its rows and columns}}
  tile.convert %x to %p : !tile.fragment<32, 64> -> !tile.operand<16, 64, bf16>
}

// -----

tile.kernel @converted_columns() grid [1] threads 128 smem 0 {
  %x = tile.registers all 0.0 : !tile.fragment<16, 64>
  %p = tile.registers : !tile.operand<16, 80, bf16>
  // expected-error @+1 {{not its rows and columns}}
  tile.convert %x to %p : !tile.fragment<16, 64> -> !tile.operand<16, 80, bf16>
}

// -----

tile.kernel @converted_type() grid [1] threads 128 smem 0 {
  %x = tile.registers all 0.0 : !tile.fragment<16, 64>
  %p = tile.registers : !tile.operand<16, 64, i8>
  // expected-error @+1 {{rounds f32 to 'i8'}}
  tile.convert %x to %p : !tile.fragment<16, 64> -> !tile.operand<16, 64, i8>
}

// -----

tile.kernel @pending() grid [1] threads 128 smem 0 {
  tile.mma_wait 7
  // expected-error @+1 {{leaves 8 groups unfinished, not 0 to 7}}
  tile.mma_wait 8
}

// -----

tile.kernel @negative() grid [1] threads 128 smem 0 {
  // expected-error @+1 {{leaves -1 groups unfinished, not 0 to 7}}
  tile.mma_wait -1
}

// -----

tile.kernel @number_of_many() grid [1] threads 128 smem 96 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 64 users 4 : <2, <1, 1, i32>>
  tile.single {
    // expected-error @+1 {{not one i32 of one writer}}
    tile.put %p[%n], %n : !tile.pipe<2, <1, 1, i32>>
  }
}

// -----

tile.kernel @number_of_floats() grid [1] threads 128 smem 96 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 64 users 4 writers 1 : <2, <1, 4, f32>>
  // expected-error @+1 {{not one i32 of one writer}}
  %x = tile.take %p[%n] : !tile.pipe<2, <1, 4, f32>>
}

// -----

tile.kernel @put_by_all() grid [1] threads 128 smem 96 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 64 users 4 writers 1 : <2, <1, 1, i32>>
  // expected-error @+1 {{belongs into a tile.single}}
  tile.put %p[%n], %n : !tile.pipe<2, <1, 1, i32>>
}

// -----

tile.kernel @taken_by_one() grid [1] threads 128 smem 96 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 64 users 4 writers 1 : <2, <1, 1, i32>>
  tile.single {
    // expected-error @+1 {{is for whole warps}}
    %x = tile.take %p[%n] : !tile.pipe<2, <1, 1, i32>>
  }
}

// -----

!pipe = !tile.pipe<2, <64, 64, f16, panels 64>>
tile.kernel @ring_of_an_argument("ring" = %ring: !pipe) grid [1] threads 128 smem 0 {
  // expected-error @+1 {{is in what is no tile.pipe, or in a pipe that is in one itself}}
  %pipe = tile.pipe at 0 barriers 0 users 4 in %ring : !pipe : !pipe
}

// -----

!pipe = !tile.pipe<2, <64, 64, f16, panels 64>>
tile.kernel @ring_in_a_ring() grid [1] threads 128 smem 0 {
  %first = tile.pipe at 0 barriers 0 users 4 : !pipe
  %second = tile.pipe at 0 barriers 0 users 4 in %first : !pipe : !pipe
  // expected-error @+1 {{is in what is no tile.pipe, or in a pipe that is in one itself}}
  %third = tile.pipe at 0 barriers 0 users 4 in %second : !pipe : !pipe
}

// -----

!pipe = !tile.pipe<2, <64, 64, f16, panels 64>>
!more = !tile.pipe<3, <64, 64, f16, panels 64>>
tile.kernel @unlike_in_a_ring() grid [1] threads 128 smem 0 {
  %first = tile.pipe at 0 barriers 0 users 4 : !pipe
  // expected-error @+1 {{is in a pipe of other slots, users or writers}}
  %second = tile.pipe at 0 barriers 0 users 4 in %first : !pipe : !more
}

// -----

!pipe = !tile.pipe<2, <64, 64, f16, panels 64>>
tile.kernel @other_users_in_a_ring() grid [1] threads 128 smem 0 {
  %first = tile.pipe at 0 barriers 0 users 4 : !pipe
  // expected-error @+1 {{is in a pipe of other slots, users or writers}}
  %second = tile.pipe at 0 barriers 0 users 2 in %first : !pipe : !pipe
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!pipe = !tile.pipe<2, <64, 64, f16, panels 64>>
tile.kernel @coordinate("map" = %map: !map, "round" = %round: i32) grid [1] threads 128 smem 0 {
  %pipe = tile.pipe at 0 barriers 0 users 4 : !pipe
  tile.start_pipes %pipe : !pipe
  // expected-error @+1 {{is the number of a tile of another pipe than one of 2 slots}}
  %number = tile.slot_number %round[1] of 2
  tile.single {
    tile.fill %pipe[%round] from %map(%number, %round) : !pipe, !map
  }
}

// -----

// expected-error @+1 {{has 1099511627776 slots for}}
!pipe = !tile.pipe<1099511627776, <64, 64, f16, panels 64>>

// -----

// expected-error @+1 {{none or more than the 232448 bytes of a block}}
!pipe = !tile.pipe<0, <64, 64, f16, panels 64>>

// -----

// expected-error @+1 {{none or more than the 232448 bytes of a block}}
!pipe = !tile.pipe<2, <64, 4611686018427387904, f16, panels 64>>

// -----

// expected-error @+1 {{none or more than the 232448 bytes of a block}}
!pipe = !tile.pipe<2, <64, 64, f16, panels 64>, slots 9223372036854775807>

// -----

tile.kernel @too_much() grid [1] threads 128 smem 0 {
  // expected-error @+1 {{nothing or more than the 232448 bytes of a block}}
  %tile = tile.shared at 0 : !tile.shared<1024, 1024, f32>
}

// -----

tile.kernel @ring_too_large() grid [1] threads 128 smem 0 {
  // expected-error @+1 {{nothing or more than the 232448 bytes of a block}}
  %ring = tile.shared at 0 : !tile.ring<1099511627776, <64, 64, f32>>
}

// -----

tile.kernel @barriers() grid [1] threads 128 smem 0 {
  // expected-error @+1 {{has -1 barriers; it can be 1 to 1024}}
  %all = tile.shared at 0 : !tile.mbarriers<-1>
}

// -----

// expected-error @+1 {{has 268435456 bytes of shared memory; a block has at most 232448}}
tile.kernel @smem() grid [1] threads 128 smem 268435456 {
}

// -----

tile.kernel @another_tile("round" = %round: i32) grid [1] threads 128 smem 0 {
  %ring = tile.shared at 0 : !tile.ring<2, <64, 64, f32>>
  // expected-error @+1 {{takes '!tile.shared<64, 128, f32>' from '!tile.shared<64, 64, f32>'}}
  %tile = tile.stage %ring[%round] : !tile.ring<2, <64, 64, f32>> -> !tile.shared<64, 128, f32>
}

// -----

!pipe = !tile.pipe<2, <64, 64, f16, panels 64>>
tile.kernel @far_beyond() grid [1] threads 128 smem 32768 {
  // expected-error @+1 {{with barriers at 16384 of 32768 bytes}}
  %pipe = tile.pipe at 9223372036854774784 barriers 16384 users 4 : !pipe
}

// -----

// expected-error @+1 {{has 64 rows of panels that have 16}}
!tile = !tile.shared<64, 64, f16, panels 16>

// -----

tile.kernel @copied_by_none() grid [1] threads 128 smem 0 {
  // expected-error @+1 {{is copied: by writers, into panels in slots of its own}}
  %p = tile.pipe at 0 barriers 0 users 4 copied : <1, <64, 64, bf16, panels 64>>
}

// -----

tile.kernel @copied_by_others() grid [1] threads 256 smem 65536 {
  %n = arith.constant 0 : i32
  %p = tile.pipe at 0 barriers 50000 users 4 writers 4 copied : <1, <64, 64, bf16, panels 64>>
  tile.role "load" warps 0 count 8 registers 56 {
    // expected-error @+1 {{completes a copied tile, not in a role whose warps are its writers}}
    tile.complete %p[%n] : !tile.pipe<1, <64, 64, bf16, panels 64>>
  }
}
