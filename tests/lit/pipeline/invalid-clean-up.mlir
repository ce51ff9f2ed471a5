// What the clean-ups are told of a kernel is checked before they use it.
// RUN: attnc-opt %s --split-input-file --verify-diagnostics --attnc-pipeline='from=narrow-indices'

// expected-error @+1 {{tile.clean_up has no `sizes` that are integer arguments of the kernel}}
tile.kernel @no_dictionary("n" = %n: i32) grid [1] threads 32 smem 0 attributes {tile.clean_up} {
}

// -----

// expected-error @+1 {{tile.clean_up has no `sizes`}}
tile.kernel @no_sizes("n" = %n: i32) grid [1] threads 32 smem 0 attributes {tile.clean_up = {}} {
}

// -----

// expected-error @+1 {{tile.clean_up has no `sizes`}}
tile.kernel @no_argument("n" = %n: i32) grid [1] threads 32 smem 0 attributes {tile.clean_up = {sizes = [1]}} {
}

// -----

// expected-error @+1 {{tile.clean_up has no `sizes`}}
tile.kernel @no_integer("x" = %x: f32) grid [1] threads 32 smem 0 attributes {tile.clean_up = {sizes = [0]}} {
}

// -----

// expected-error @+1 {{or tile.index is on what is no integer}}
tile.kernel @no_index("n" = %n: i32) grid [1] threads 32 smem 0 attributes {tile.clean_up = {sizes = [0]}} {
  tile.barrier {tile.index}
}
