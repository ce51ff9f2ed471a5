#ifndef ATTNC_COMPILER_TRANSFORMS_PAIR_ROLES_H
#define ATTNC_COMPILER_TRANSFORMS_PAIR_ROLES_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Gives a nest without states, which stores a value for each pair of positions, the roles that
/// tiles need: `stream` is the dim along which the values lie side by side, and the row dim is that
/// of a pass over it. False, and nothing changes, where there is no such dim, or few pairs.
bool givePairRoles(red::NestOp nest, mlir::StringAttr stream);

/// Takes them away again.
void takePairRoles(red::NestOp nest);

} // namespace attnc

#endif
