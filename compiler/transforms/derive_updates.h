#ifndef ATTNC_COMPILER_TRANSFORMS_DERIVE_UPDATES_H
#define ATTNC_COMPILER_TRANSFORMS_DERIVE_UPDATES_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Writes the update of every fold of the nest that has none: how a state is begun, takes an
/// element in, is merged with another and moves with what it is relative to (red.fold). This is the
/// only place that knows the recurrence; code generators inline the regions.
void deriveUpdates(red::NestOp nest);

/// The same of all nests of the program.
void deriveUpdates(attn::ProgramOp program);

} // namespace attnc

#endif
