// A form that is asked for by name is the one that the error speaks of.
// RUN: echo '{"documents_di_tile_max_di_tile_min": {"form": "warpgroups"}}' > %t.json
// RUN: not attnc compile documents --target sm_90a --emit tile --schedule %t.json 2>&1 | FileCheck %s
// CHECK: documents_di_tile_max_di_tile_min cannot use warpgroups: it has 0 row dims
