// RUN: attnc-opt %s --split-input-file --verify-diagnostics

tile.kernel @caller("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 0 {
  // expected-error@+1 {{calls @nobody, which is no kernel of the module}}
  tile.call @nobody(%x) : (!tile.ptr<f32>) -> ()
}

// -----

tile.kernel @alone("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 0 {
}
tile.kernel @caller("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 0 {
  // expected-error@+1 {{calls @alone, which is launched by itself}}
  tile.call @alone(%x) : (!tile.ptr<f32>) -> ()
}

// -----

tile.kernel @member("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 0 attributes {chain = 0 : i64} {
}
tile.kernel @caller("n" = %n: i64) grid [1] threads 32 smem 0 {
  // expected-error@+1 {{has other arguments than @member}}
  tile.call @member(%n) : (i64) -> ()
}

// -----

tile.kernel @member("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 64 attributes {chain = 0 : i64} {
}
tile.kernel @caller("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 0 {
  // expected-error@+1 {{is in a block of 32 threads and 0 bytes; @member is for 32 threads and 64 bytes}}
  tile.call @member(%x) : (!tile.ptr<f32>) -> ()
}

// -----

tile.kernel @member("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 0 attributes {chain = 0 : i64} {
}
tile.kernel @caller("x" = %x: !tile.ptr<f32>) grid [1] threads 32 smem 0 attributes {chain = 0 : i64} {
  // expected-error@+1 {{is not in a kernel that is launched}}
  tile.call @member(%x) : (!tile.ptr<f32>) -> ()
}
