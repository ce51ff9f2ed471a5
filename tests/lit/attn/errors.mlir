// What the verifiers of attn refuse.
// RUN: attnc-opt -split-input-file -verify-diagnostics %s

// expected-error@+1 {{lists dim 'i' twice}}
attn.program @twice dims [i, j, i] {
}

// -----

// expected-error@+1 {{dim 'd' has extent 0, which is not positive}}
attn.program @empty dims [d = 0] {
}

// -----

attn.program @unlisted dims [i] {
  // expected-error@+1 {{has dim 'j', which the program does not list}}
  %a = attn.input "a" : <[i, j], f32>
}

// -----

attn.program @order dims [i, j] {
  %a = attn.input "a" : <[j, i], f32>
  // expected-error@+1 {{lists dims of its result out of the program's order}}
  %r = attn.read %a [j, i] : (!attn.array<[j, i], f32>) -> !attn.array<[j, i], f32>
}

// -----

attn.program @size dims [i] {
  // expected-error@+1 {{has a result with the wrong dims}}
  %n = attn.size i : <[i], i64>
}

// -----

attn.program @index dims [i] {
  // expected-error@+1 {{yields i64}}
  %n = attn.index i : <[i], f32>
}

// -----

attn.program @param dims [i] {
  // expected-error@+1 {{is a scalar}}
  %p = attn.param "p" -> <[i], f32>
}

// -----

attn.program @param_default dims [i] {
  %n = attn.size i : <[], i64>
  // expected-error@+1 {{has a default of another type}}
  %p = attn.param "p" default %n : !attn.array<[], i64> -> <[], f32>
}

// -----

attn.program @rank dims [i, j] {
  %a = attn.input "a" : <[i, j], f32>
  // expected-error@+1 {{has 1 subscripts for an array of rank 2}}
  %r = attn.read %a [i] : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
}

// -----

attn.program @float_subscript dims [i, j] {
  %a = attn.input "a" : <[i], f32>
  %x = attn.read %a [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
  // expected-error@+1 {{has a subscript that is not an i64 array}}
  %r = attn.read %a [%x] : (!attn.array<[i], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
}

// -----

attn.program @compute_type dims [i] {
  %a = attn.input "a" : <[i], bf16>
  // expected-error@+1 {{yields 'f32'}}
  %r = attn.read %a [i] : (!attn.array<[i], bf16>) -> !attn.array<[i], bf16>
}

// -----

attn.program @read_dims dims [i, j] {
  %a = attn.input "a" : <[i], f32>
  // expected-error@+1 {{has a result whose dims are not those of its operands}}
  %r = attn.read %a [i] : (!attn.array<[i], f32>) -> !attn.array<[i, j], f32>
}

// -----

attn.program @map_dims dims [i, j] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{has a result whose dims are not those of its operands}}
  %m = attn.map (%x = %i : !attn.array<[i], i64>) -> !attn.array<[], i64> {
    attn.yield %x : i64
  }
}

// -----

attn.program @map_type dims [i] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{must end with an attn.yield of its element type}}
  %m = attn.map (%x = %i : !attn.array<[i], i64>) -> !attn.array<[i], f32> {
    attn.yield %x : i64
  }
}

// -----

attn.program @map_body dims [i] {
  %m = attn.map () -> !attn.array<[], i64> {
    // expected-error@+1 {{is not a scalar operation}}
    %n = attn.size i : <[], i64>
    %c = arith.constant 1 : i64
    attn.yield %c : i64
  }
}

// -----

attn.program @reduce_dim dims [i, j] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{reduces over dim 'j', which its operand has not}}
  %r = attn.reduce add over [j] %i : <[i], i64> -> <[i], i64>
}

// -----

attn.program @reduce_twice dims [i] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{reduces twice over dim 'i'}}
  %r = attn.reduce add over [i, i] %i : <[i], i64> -> <[], i64>
}

// -----

attn.program @reduce_none dims [i] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{reduces over no dim}}
  %r = attn.reduce add over [] %i : <[i], i64> -> <[i], i64>
}

// -----

attn.program @reduce_kind dims [i] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{has an element type that does not fit its kind}}
  %r = attn.reduce and over [i] %i : <[i], i64> -> <[], i64>
}

// -----

attn.program @reduce_result dims [i, j] {
  %a = attn.input "a" : <[i, j], f32>
  %x = attn.read %a [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
  // expected-error@+1 {{has a result whose dims are not those of its operands}}
  %r = attn.reduce add over [j] %x : <[i, j], f32> -> <[i, j], f32>
}

// -----

attn.program @softmax dims [i] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{keeps the type of its operand, a float array}}
  %r = attn.softmax over [i] %i : <[i], i64> -> <[i], i64>
}

// -----

attn.program @output_type dims [i] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{stores a 'i64' array as 'f32'}}
  attn.output "i" [i] %i as f32 : <[i], i64>
}

// -----

attn.program @output_dims dims [i, j] {
  %i = attn.index i : <[i], i64>
  // expected-error@+1 {{has a result whose dims are not those of its operands}}
  attn.output "i" [i, j] %i as i64 : <[i], i64>
}

// -----

attn.program @length_of_itself dims [b, j] {
  %len = attn.index j : <[j], i64>
  // expected-error@+1 {{is not of a dynamic dim of the program}}
  attn.extent j %len : <[j], i64>
}

// -----

attn.program @extent_of_static dims [j = 4, n] {
  %n = attn.size n : <[], i64>
  // expected-error@+1 {{is not of a dynamic dim of the program}}
  attn.extent j %n : <[], i64>
}
