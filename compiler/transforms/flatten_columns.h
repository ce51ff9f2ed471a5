#ifndef ATTNC_COMPILER_TRANSFORMS_FLATTEN_COLUMNS_H
#define ATTNC_COMPILER_TRANSFORMS_FLATTEN_COLUMNS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// True if states of the nest have several inner dims, of which each other state and each result
/// has all or none, and no fold takes some and leaves others: one dim can stand for them.
bool hasSeveralColumnDims(red::NestOp nest);

/// Has one dim, with an index for each combination, stand for the inner dims of each such state:
/// tiles have one dim of columns. Tensors are read at its quotients and remainders. Those who read
/// a result plainly read it at the combination of their indices; for others, and for outputs, a
/// nest behind it stores it with the dims that it had. Returns the nest that takes the place of
/// `nest`.
red::NestOp flattenColumns(red::NestOp nest);

} // namespace attnc

#endif
