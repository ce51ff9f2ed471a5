// What the verifiers of red refuse.
// RUN: attnc-opt -split-input-file -verify-diagnostics %s

attn.program @roles dims [i, j] {
  // expected-error@+1 {{gives dim 'j' two roles}}
  %n = red.nest grid [i, j] row [] stream [j] inner [] : !attn.array<[], i64> {
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @no_role dims [i, j] {
  %n = red.nest grid [i] row [] stream [] inner [] : !attn.array<[], i64> {
    // expected-error@+1 {{has dim 'j', which has no role}}
    %j = attn.index j : <[j], i64>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @foreign_op dims [i] {
  %n = red.nest grid [i] row [] stream [] inner [] : !attn.array<[], i64> {
    // expected-error@+1 {{cannot be in the body of a nest}}
    %a = attn.input "a" : <[i], f32>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @yield dims [i] {
  // expected-error@+1 {{must end with a red.yield of its results}}
  %n = red.nest grid [i] row [] stream [] inner [] : !attn.array<[i], f32> {
    %i = attn.index i : <[i], i64>
    red.yield %i : !attn.array<[i], i64>
  }
}

// -----

attn.program @state_in_step dims [i, j] {
  %s = attn.input "s" : <[i, j], f32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %m = red.fold max over [j](%0) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    // expected-error@+1 {{has a factor that depends on a state of the same pass}}
    %z = red.fold add over [j](%0, %m) : (!attn.array<[i, j], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @reference dims [i, j] {
  %s = attn.input "s" : <[i, j], f32>
  %t = attn.input "t" : <[i, j], f32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %1 = attn.read %t [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %m = red.fold max over [j](%0) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    // expected-error@+1 {{needs the max fold of its exponent over the same dims as reference}}
    %z = red.fold add over [j]() exp(%1 - %m) : (!attn.array<[i, j], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @max_of_two dims [i, j] {
  %s = attn.input "s" : <[i, j], f32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    // expected-error@+1 {{folds exactly one value unless it adds}}
    %m = red.fold max over [j](%0, %0) : (!attn.array<[i, j], f32>, !attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @adds_nothing dims [i, j] {
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    // expected-error@+1 {{adds nothing}}
    %m = red.fold add over [j]() : () -> !attn.array<[i], f32>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @logical dims [i, j] {
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %0 = attn.index j : <[j], i64>
    // expected-error@+1 {{has an operand whose type does not fit its kind}}
    %m = red.fold or over [j](%0) : (!attn.array<[j], i64>) -> !attn.array<[], i64>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @fold_dim dims [i, j] {
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %0 = attn.index i : <[i], i64>
    // expected-error@+1 {{folds over dim 'j', which its operands have not}}
    %m = red.fold add over [j](%0) : (!attn.array<[i], i64>) -> !attn.array<[i], i64>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @fold_result dims [i, j] {
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %0 = attn.index j : <[j], i64>
    // expected-error@+1 {{has a result whose dims are not those that remain}}
    %m = red.fold add over [j](%0) : (!attn.array<[j], i64>) -> !attn.array<[i], i64>
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  }
}

// -----

attn.program @domain_arguments dims [i, j] {
  // expected-error@+1 {{has a domain of 1 arguments; its roles make it 3}}
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  } domain {
  ^bb0(%i: i64):
    %zero = arith.constant 0 : i64
    %full = arith.constant true
    red.bounds lo(%zero) hi(%zero) full %full
  }
}

// -----

attn.program @bounds dims [i, j] {
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  } domain {
  ^bb0(%i: i64, %j0: i64, %j1: i64):
    %full = arith.constant true
    // expected-error@+1 {{needs one lo and one hi for each stream dim}}
    red.bounds lo() hi() full %full
  }
}

// -----

attn.program @extreme_kind dims [i, j] {
  %x = attn.input "x" : <[i], i32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  } domain {
  ^bb0(%i: i64, %j0: i64, %j1: i64):
    %full = arith.constant true
    // expected-error@+1 {{is of kind max or min}}
    %e = red.extreme add of %x from [%i] to [%i] : <[i], i32>
    red.bounds lo(%e) hi(%e) full %full
  }
}

// -----

attn.program @extreme_of_floats dims [i, j] {
  %x = attn.input "x" : <[i], f32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  } domain {
  ^bb0(%i: i64, %j0: i64, %j1: i64):
    %full = arith.constant true
    // expected-error@+1 {{needs an array of integers}}
    %e = red.extreme max of %x from [%i] to [%i] : <[i], f32>
    red.bounds lo(%e) hi(%e) full %full
  }
}

// -----

attn.program @extreme_box dims [i, j] {
  %x = attn.input "x" : <[i, j], i32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[], i64> {
    %size = attn.size i : <[], i64>
    red.yield %size : !attn.array<[], i64>
  } domain {
  ^bb0(%i: i64, %j0: i64, %j1: i64):
    %full = arith.constant true
    // expected-error@+1 {{needs a first and a last index for each dim of its array}}
    %e = red.extreme max of %x from [%i] to [%i] : <[i, j], i32>
    red.bounds lo(%e) hi(%e) full %full
  }
}

// -----

attn.program @moment_of_another_sum dims [i, j] {
  %s = attn.input "s" : <[i, j], f32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[i], f32> {
    %x = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %m = red.fold max over [j](%x) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    %c0 = red.fold add over [j](%x) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    // expected-error@+1 {{needs the moments of lower degree of the same sum}}
    %c1 = red.fold add over [j]() exp(%x - %m) moment(%x - %m) above(%c0) : (!attn.array<[i, j], f32>, !attn.array<[i], f32>, !attn.array<[i, j], f32>, !attn.array<[i], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    red.yield %c1 : !attn.array<[i], f32>
  }
}

// -----

attn.program @centre_of_moments dims [i, j] {
  %s = attn.input "s" : <[i, j], f32>
  %n = red.nest grid [i] row [] stream [j] inner [] : !attn.array<[i], f32> {
    %x = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %sum = red.fold add over [j](%x) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    %c1 = red.fold add over [j](%x) moment(%x - %sum) above(%sum) : (!attn.array<[i, j], f32>, !attn.array<[i, j], f32>, !attn.array<[i], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    %g = attn.map (%a = %c1 : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
      %b = arith.negf %a : f32
      attn.yield %b : f32
    }
    // expected-error@+1 {{has a centre that depends on another moment of the same pass}}
    %d1 = red.fold add over [j](%x) moment(%x - %g) above(%sum) : (!attn.array<[i, j], f32>, !attn.array<[i, j], f32>, !attn.array<[i], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    red.yield %d1 : !attn.array<[i], f32>
  }
}

// -----

attn.program @part_of_the_stream dims [i, r, x] {
  %a = attn.input "a" : <[i, x], f32>
  %n = red.nest grid [i] row [] stream [r, x] inner [] : !attn.array<[i], f32> {
    %read = attn.read %a [i, x] : (!attn.array<[i, x], f32>) -> !attn.array<[i, x], f32>
    // expected-error@+1 {{folds over some of the stream and leaves the rest}}
    %sum = red.fold add over [x](%read) : (!attn.array<[i, x], f32>) -> !attn.array<[i], f32>
    red.yield %sum : !attn.array<[i], f32>
  }
}

// -----

attn.program @packed_dims dims [b, i, i_rows] {
  %at = attn.input "at" : <[b, i], i64>
  %n = red.nest grid [b, i] row [] stream [] inner [] : !attn.array<[b, i], i64> {
    %read = attn.read %at [b, i] : (!attn.array<[b, i], i64>) -> !attn.array<[b, i], i64>
    red.yield %read : !attn.array<[b, i], i64>
  }
  %start = red.nest grid [b] row [] stream [] inner [] : !attn.array<[b], i64> {
    %index = attn.index b : <[b], i64>
    red.yield %index : !attn.array<[b], i64>
  }
  // expected-error@+1 {{has in place of both axes one of the rows of all sequences}}
  %rows = red.pack %n along "i" from %start count %start : <[b, i], i64>, <[b], i64>, <[b], i64> -> <[b, i_rows], i64>
  attn.output "o" [b, i_rows] %rows as i64 : <[b, i_rows], i64>
}

// -----

attn.program @packed_input dims [b, i, i_rows] {
  %at = attn.input "at" : <[b, i], i64>
  %start = attn.input "start" : <[b], i64>
  // expected-error@+1 {{packs a result of a nest that nobody else reads}}
  %rows = red.pack %at along "i" from %start count %start : <[b, i], i64>, <[b], i64>, <[b], i64> -> <[i_rows], i64>
  attn.output "o" [i_rows] %rows as i64 : <[i_rows], i64>
}

// -----

attn.program @packed_places dims [b, i, i_rows] {
  %start = attn.input "start" : <[b], f32>
  %n = red.nest grid [b, i] row [] stream [] inner [] : !attn.array<[b, i], i64> {
    %index = attn.index i : <[i], i64>
    %b = attn.index b : <[b], i64>
    %sum = attn.map (%x = %b : !attn.array<[b], i64>, %y = %index : !attn.array<[i], i64>) -> !attn.array<[b, i], i64> {
      %z = arith.addi %x, %y : i64
      attn.yield %z : i64
    }
    red.yield %sum : !attn.array<[b, i], i64>
  }
  // expected-error@+1 {{needs integers for each sequence: its first row, and how many it has}}
  %rows = red.pack %n along "i" from %start count %start : <[b, i], i64>, <[b], f32>, <[b], f32> -> <[i_rows], i64>
  attn.output "o" [i_rows] %rows as i64 : <[i_rows], i64>
}
