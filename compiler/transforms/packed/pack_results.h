#ifndef ATTNC_COMPILER_TRANSFORMS_PACKED_PACK_RESULTS_H
#define ATTNC_COMPILER_TRANSFORMS_PACKED_PACK_RESULTS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// Outputs of packed sequences become red.pack: in place of a nest that looks for the sequence of
/// each row, and reads what another one has stored for it, that other one stores the row. Comes
/// after the passes that make nests.
void packResults(attn::ProgramOp program);

} // namespace attnc

#endif
