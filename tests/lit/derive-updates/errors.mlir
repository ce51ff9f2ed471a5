// What the verifier refuses of an update.
// RUN: attnc-opt -split-input-file -verify-diagnostics %s

attn.program @missing dims [i, j] {
  %x = attn.input "x" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    // expected-error@+1 {{has an update whose part 'lift' is missing or has more than one block}}
    %m = red.fold max over [j](%xr) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32> update {
      merge(%a: f32, %b: f32) {
        %c = arith.maximumf %a, %b : f32
        red.return %c : f32
      }
      empty() {
        %c = arith.constant 0xFF800000 : f32
        red.return %c : f32
      }
    }
    red.yield %m : !attn.array<[i], f32>
  }
}

// -----

attn.program @arguments dims [i, j] {
  %x = attn.input "x" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    // expected-error@+1 {{has an update whose part 'empty' does not take the arguments that its operands make it}}
    %m = red.fold max over [j](%xr) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32> update {
      empty(%a: f32) {
        red.return %a : f32
      }
    }
    red.yield %m : !attn.array<[i], f32>
  }
}

// -----

attn.program @outside dims [i, j] {
  %x = attn.input "x" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    // expected-error@+1 {{has an update whose part 'empty' uses a value from outside}}
    %m = red.fold max over [j](%xr) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32> update {
      empty() {
        %f = attn.size i : <[], i64>
        %y = attn.map (%arg0 = %xr : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
          attn.yield %arg0 : f32
        }
        %c = arith.constant 0.0 : f32
        red.return %c : f32
      }
    }
    red.yield %m : !attn.array<[i], f32>
  }
}

// -----

attn.program @type dims [i, j] {
  %x = attn.input "x" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    // expected-error@+1 {{has an update whose part 'empty' does not return a scalar of the state's type}}
    %m = red.fold max over [j](%xr) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32> update {
      empty() {
        %c = arith.constant 0 : i64
        red.return %c : i64
      }
    }
    red.yield %m : !attn.array<[i], f32>
  }
}

// -----

attn.program @frame dims [i, j] {
  %x = attn.input "x" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    // expected-error@+1 {{has an update with a part for operands that it has not}}
    %m = red.fold max over [j](%xr) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32> update {
      empty() {
        %c = arith.constant 0xFF800000 : f32
        red.return %c : f32
      }
      lift(%a: f32) {
        red.return %a : f32
      }
      merge(%a: f32, %b: f32) {
        %c = arith.maximumf %a, %b : f32
        red.return %c : f32
      }
      weight(%a: f32, %b: f32) {
        red.return %a : f32
      }
    }
    red.yield %m : !attn.array<[i], f32>
  }
}

// -----

attn.program @word dims [i, j] {
  %x = attn.input "x" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %m = red.fold max over [j](%xr) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32> update {
      // expected-error@+1 {{'begin' is no part of an update}}
      begin() {
        %c = arith.constant 0xFF800000 : f32
        red.return %c : f32
      }
    }
    red.yield %m : !attn.array<[i], f32>
  }
}
