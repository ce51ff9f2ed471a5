// RUN: attnc-opt %s --split-input-file --verify-diagnostics

tile.kernel @nothing_ahead("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{has copies that run 0 ahead; it can be 1 to 63}}
  tile.stream_ahead %tiles to %tiles by 0 {
  ^bb0(%t: i32, %n: i32):
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @further_than_a_tile("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{has copies that run 3 parts ahead, of tiles with 2}}
  tile.stream_ahead %tiles to %tiles by 3 {
  ^bb0(%t: i32, %n: i32):
    tile.step "scores" parts 2 {
    ^bb0(%part: i32, %arrived: i32):
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @without_part("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{has copies of a tile, a part of it, and the part's number}}
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
  } copies {
  ^bb0(%t: i32):
  }
}

// -----

tile.kernel @full_without_question("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{has a block with the tile's number, that among the copied ones}}
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32, %full: i1):
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @one_word("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{asks of the 32 tiles from one on, for two words}}
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32, %full: i1):
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  } ask {
  ^bb0(%chunk: i32):
    tile.yield %chunk : i32
  }
}

// -----

tile.kernel @in_no_step("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    // expected-error @+1 {{is done by no tile.step}}
    tile.barrier
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @later_stage("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    // expected-error @+1 {{of a tile.stream_ahead has no stage, order, pending, turn or results}}
    tile.step "values" stage 1 {
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @no_parts("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    // expected-error @+1 {{in parts has a block with the part's numbers}}
    tile.step "scores" parts 2 {
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @parts_elsewhere("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is in parts outside of a tile.stream_ahead}}
      tile.step "scores" parts 2 {
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @far_ahead("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{has copies that run 100000 ahead; it can be 1 to 63}}
  tile.stream_ahead %tiles to %tiles by 100000 {
  ^bb0(%t: i32, %n: i32):
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @negative_ahead("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{has copies that run -1 ahead; it can be 1 to 63}}
  tile.stream_ahead %tiles to %tiles by -1 {
  ^bb0(%t: i32, %n: i32):
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @negative_parts("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    // expected-error @+1 {{is done for -1 parts; it can be 1 to 65536}}
    tile.step "scores" parts -1 {
    ^bb0(%a: i32, %b: i32):
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @many_parts("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    // expected-error @+1 {{is done for 4294967296 parts; it can be 1 to 65536}}
    tile.step "scores" parts 4294967296 {
    ^bb0(%a: i32, %b: i32):
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @arguments_without_parts("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    // expected-error @+1 {{without parts has a block without arguments}}
    tile.step "scores" {
    ^bb0(%a: i32, %b: i32):
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @order("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
    // expected-error @+1 {{of a tile.stream_ahead has no stage, order, pending, turn or results}}
    tile.step "scores" order 5 {
      tile.yield
    }
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
  }
}

// -----

tile.kernel @waits_in_copies("tiles" = %tiles: i32) grid [1] threads 32 smem 0 {
  tile.stream_ahead %tiles to %tiles by 1 {
  ^bb0(%t: i32, %n: i32):
  } copies {
  ^bb0(%t: i32, %part: i32, %n: i32):
    // expected-error @+1 {{is among the copies of a tile.stream_ahead, which are started only}}
    tile.barrier
  }
}
